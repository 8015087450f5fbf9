import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { longest, told } from "../src/told";
import { GOLDEN, recording } from "./golden";

const sentences = JSON.parse(readFileSync(join(GOLDEN, "told.json"), "utf8")) as Record<string, string[]>;

describe("the sentences of steps that came without any", () => {
  for (const name of ["broadcast", "fork", "routed"] as const) {
    it(`are those that Python tells of ${name}`, () => {
      const rec = recording(`${name}-untold`);
      const said = Array.from(rec.captions, (_, k) => told(rec, k));
      expect(said).toEqual(sentences[`${name}-untold`]);
      expect(said.join("")).not.toMatch(/[{}]/);
      expect(longest(rec)).toBe(Math.max(...said.map((words) => words?.length ?? 0)));
    });
  }
});

it("text that looks like a field is text", () => {
  const rec = recording("fork");
  rec.header.steps.captions[rec.captions[0] ?? -1] = "{{node} of {node}, {{{{";
  expect(told(rec, 0)).toBe("{node} of y, {{");
});
