import { expect, test } from "vitest";
import type { Address } from "../src/address/keys";
import { comparedWith, distinctName, inRun, keysOf, selected } from "../src/address/selection";
import type { SpanEntry } from "../src/api.gen";
import { index, run, span } from "./fixtures/pages";

const INDEX = index([
  run("a", [span(1, "reading"), span(2), span(3)]),
  run("b", [span(1, "failed"), span(2)], "worker9"),
  run("broken", [span(1, "failed")]),
]);
const found = (state: Address) => {
  const selection = selected(INDEX, state);
  return selection && [selection.run.name, selection.worker.name, selection.span.number];
};

test.each([
  [{}, ["a", "worker0", 2]],
  [{ span: 1 }, ["a", "worker0", 1]],
  [{ run: "b" }, ["b", "worker9", 2]],
  [{ run: "b", span: 1 }, ["b", "worker9", 1]],
  [{ run: "broken" }, ["broken", "worker0", 1]],
  [{ run: "gone", worker: "worker9" }, ["b", "worker9", 2]],
  [{ run: "a", worker: "gone", span: 99 }, ["a", "worker0", 2]],
])("%j opens what can be shown and is nearest to it", (state, expected) => {
  expect(found(state)).toEqual(expected);
});

test("an address that names no run opens the one recorded last, of a GPU where one is", () => {
  const at = (recorded_ns: number, has_gpu: boolean | null = true) => span(1, "ready", { recorded_ns, has_gpu });
  const opens = (...spans: SpanEntry[]) =>
    selected(index(spans.map((each, i) => run(`run${i}`, [each]))), {})?.run.name;
  expect(opens(at(3), at(9), at(5))).toBe("run1");
  expect(opens(at(3), at(9, false), at(5))).toBe("run2");
  expect(opens(at(3, false), at(9, false))).toBe("run1");
  expect(opens(at(3), span(1, "failed", { recorded_ns: 9 }))).toBe("run0");
  expect(opens(at(3), span(1, "reading", { recorded_ns: 9 }))).toBe("run1");
});

test("an empty log directory has nothing to open", () => {
  expect(selected(index([]), { run: "a" })).toBeNull();
});

test("another run opens with the same span where it has it", () => {
  const like = selected(INDEX, { run: "a", span: 3 })!;
  expect(inRun(INDEX.runs[1]!, like)?.span.number).toBe(1);
  expect(inRun(INDEX.runs[0]!, like)?.span.number).toBe(3);
});

test("what is written into the address opens it again, and drops the step of another span", () => {
  const like = selected(INDEX, { run: "b", span: 2 })!;
  expect(keysOf(like)).toEqual({
    run: "b",
    worker: "worker9",
    span: 2,
    step: null,
    steps: null,
    zoom: null,
    event: null,
    range: null,
  });
});

test("a span is compared with another one, never with itself or one that is gone", () => {
  const chosen = selected(INDEX, { run: "b", span: 2 })!;
  const name = (key: string) => comparedWith(INDEX, { with: key }, chosen)?.run.name ?? null;
  expect([name("a/worker0/3"), name("b/worker9/2"), name("x/y/1")]).toEqual(["a", null, null]);
  expect(comparedWith(INDEX, {}, chosen)).toBeNull();
});

test("two spans are distinguished by what differs", () => {
  const [first, second] = [selected(INDEX, { run: "a", span: 1 })!, selected(INDEX, { run: "a", span: 2 })!];
  expect([distinctName(first, second), distinctName(selected(INDEX, { run: "b" })!, second)]).toEqual(["span 1", "b"]);
});
