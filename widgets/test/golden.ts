/** The containers that Python wrote from its hand-made records. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { decode, type Recording } from "../src/wire";

export const GOLDEN = join(import.meta.dirname, "golden");

export function bytes(name: string): ArrayBuffer {
  const file = readFileSync(join(GOLDEN, `${name}.tvz`));
  return file.buffer.slice(file.byteOffset, file.byteOffset + file.byteLength) as ArrayBuffer;
}

type Name = "broadcast" | "fork" | "routed";

export function recording(name: Name | `${Name}-untold`): Recording {
  return decode(bytes(name));
}

/** A file of the golden ones that Python's views and this side share. */
export function shared<T>(name: string): T {
  return JSON.parse(readFileSync(join(import.meta.dirname, "..", "..", "tests", "golden", name), "utf8")) as T;
}
