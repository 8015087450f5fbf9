import { expect, it } from "vitest";
import { marked } from "../src/view/caption";
import { Virtual } from "../src/virtual";

const coloured = (sentence: string) =>
  marked(sentence)
    .filter((part): part is Virtual => part instanceof Virtual && part.attributes["class"] === "tv-g")
    .map((part) => part.children.join(""));

it("colours gradients and the numbers that come as shares, and nothing else", () => {
  const fork = "x is used 3 times, so its shares add: the second, −0.03576 from sigx, makes ∂x = 1.547.";
  expect(coloured(fork)).toEqual(["−0.03576", "∂x = 1.547"]);
  expect(coloured("h receives its only share, 6.5e−6, from den, so ∂h is complete.")).toEqual(["6.5e−6", "∂h"]);
  expect(coloured("Forward copied b along axis 0, 1, so (2, 3) becomes (3,).")).toEqual([]);
});

it("leaves the words of a sentence as they are", () => {
  const said = "max routes: 4 of 12 elements of A were chosen, and the gradient goes to them alone.";
  const words = marked(said).map((part) => (part instanceof Virtual ? part.children.join("") : part || ""));
  expect(words.join("")).toBe(said);
});
