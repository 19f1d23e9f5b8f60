import { expect, test } from "vitest";
import type { Address } from "../src/address/keys";
import { comparedWith, inRun, keysOf, namesApart, namesIn, type Selection, selected } from "../src/address/selection";
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
    try: null,
    zoom: null,
    event: null,
    range: null,
    mark: null,
    folds: null,
    pins: null,
    snapshot: null,
  });
});

test("a span is compared with another one, never with itself or one that is gone", () => {
  const chosen = selected(INDEX, { run: "b", span: 2 })!;
  const name = (key: string) => comparedWith(INDEX, { with: key }, chosen)?.run.name ?? null;
  expect([name("a/worker0/3"), name("b/worker9/2"), name("x/y/1")]).toEqual(["a", null, null]);
  expect(comparedWith(INDEX, {}, chosen)).toBeNull();
});

test("two spans are told apart by what differs, without what both names share", () => {
  const of = (run: string, number: number) => selected(INDEX, { run, span: number })!;
  expect(namesApart(of("a", 1), of("a", 2))).toEqual({ own: "span 1", name: "span 2" });
  const named = (name: string, workers: [string, number | null][], at = 0): Selection => {
    const all = workers.map(([worker, rank]) => ({ name: worker, rank, spans: [span(1)] }));
    return { run: { ...run(name, []), workers: all }, worker: all[at]!, span: span(1) };
  };
  const [baseline, amp] = [named("jobs/baseline_v100", [["w0", null]]), named("jobs/amp_v100", [["host7", null]])];
  expect(namesApart(baseline, amp)).toEqual({ own: "baseline", name: "amp" });
  const unranked = [0, 1].map((at) =>
    named(
      "amp",
      [
        ["host_01.local", null],
        ["host_12.local", null],
      ],
      at,
    ),
  );
  expect(namesApart(unranked[0]!, unranked[1]!)).toEqual({ own: "host_01", name: "host_12" });
  const ranked = [0, 1].map((at) =>
    named(
      "amp",
      [
        ["host_01", 0],
        ["host_12", 1],
      ],
      at,
    ),
  );
  expect(namesApart(ranked[1]!, ranked[0]!)).toEqual({ own: "rank 1", name: "rank 0" });
  expect([namesIn(ranked[1]!), namesIn(of("a", 2)), namesIn(baseline)]).toEqual([["rank 1"], ["span 2"], []]);
});
