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
  expect(coloured("np.sin(x) is used once, so ∂(np.sin(x)) is complete.")).toEqual(["∂(np.sin(x))"]);
  const deep = "∂((h.max(axis=1) * w).sum()) = 2.5";
  expect(coloured(`It receives its only share, 1, from L, so ${deep}.`)).toEqual(["1", deep]);
  expect(coloured("Forward copied b along axis 0, 1, so (2, 3) becomes (3,).")).toEqual([]);
});

it("leaves the words of a sentence as they are", () => {
  const said = "max routes: 4 of 12 elements of A were chosen, and the gradient goes to them alone.";
  const words = marked(said).map((part) => (part instanceof Virtual ? part.children.join("") : part || ""));
  expect(words.join("")).toBe(said);
});

it("marks what the gate does, not the op that is called as another gate's deed", () => {
  const mark = (sentence: string) =>
    marked(sentence).flatMap((part) => (part instanceof Virtual && part.tag === "mark" ? part.children : []));
  expect(mark("The rule of x+b runs: add distributes; two shares go to x and b.")).toEqual(["distributes"]);
  expect(mark("The rule of add runs: add distributes; two shares go to x and b.")).toEqual(["distributes"]);
  expect(mark("The rule of L runs: sum repeats; a share goes to h.")).toEqual(["repeats"]);
  expect(mark("The rule of y runs: swish applies its own rule; a share goes to x.")).toEqual(["applies"]);
  expect(mark("x is used 2 times, so its shares add: the first from y.")).toEqual(["add"]);
  expect(mark("add is used twice, so its shares add: the first, from mul, makes ∂add = 2.")).toEqual(["add"]);
  expect(mark("The pass starts at add: a change of add changes add by as much, so ∂add = 1.")).toEqual([]);
  expect(mark("add receives its only share from mul, so ∂add is complete.")).toEqual([]);
});
