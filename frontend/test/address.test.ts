/** The address: its keys, the span that it names, and the shortest names of spans. */

import { describe, expect, it, test } from "vitest";
import type { Address } from "../src/address/keys";
import { comparedWith, inRun, keysOf, namesApart, namesIn, type Selection, selected } from "../src/address/selection";
import { shortNames } from "../src/address/short_names";
import { parse, write } from "../src/address/url";
import type { SpanEntry } from "../src/api.gen";
import { all } from "./fixtures/all";
import { index, run, span } from "./fixtures/pages";

test("only our own keys are read", () => {
  expect(parse("#tb_steptime&p.tb_steptime.view=trends&p.other.view=x&runSelectionState=e30")).toEqual({
    view: "trends",
  });
  expect(parse("")).toEqual({});
  expect(parse("#scalars")).toEqual({});
});

test("what is written is read again, whatever is in it", () => {
  const state: Address = {
    run: "a/b & c=d",
    step: "100%",
    worker: "",
    span: 12,
    zoom: { from: -50, to: 1500 },
    off: new Set(["kernel", "other"]),
    runs: ["a, b", "c&d"],
  };
  expect(parse(write("#tb_steptime", state))).toEqual(state);
});

test("others' keys keep their place and spelling; ours are replaced or taken out", () => {
  const hash = "#tb_steptime&smoothing=0.6&p.tb_steptime.view=trends&p.tb_steptime.step=5&p.x.y=%7B";
  expect(write(hash, { step: null, view: "overview" })).toBe(
    "#tb_steptime&smoothing=0.6&p.x.y=%7B&p.tb_steptime.view=overview",
  );
});

test("an address that names no plugin comes to name ours", () => {
  expect(write("", { view: "trends" })).toBe("#tb_steptime&p.tb_steptime.view=trends");
  expect(write("#smoothing=0.6", { view: "trends" })).toBe("#tb_steptime&smoothing=0.6&p.tb_steptime.view=trends");
});

test("a lone percent sign in a hand-edited address stands for itself", () => {
  expect(parse("#tb_steptime&p.tb_steptime.run=50%")).toEqual({ run: "50%" });
});

test.each(["span=x", "span=-1", "event=1e3", "event=", "zoom=400-100", "zoom=a-b", "zoom=", "elsewhere=1"])(
  "what nobody wrote by intention is left out: %s",
  (key) => {
    expect(parse(`#tb_steptime&p.tb_steptime.view=host&p.tb_steptime.${key}`)).toEqual({ view: "host" });
  },
);

test("a zoom is kept in whole nanoseconds", () => {
  expect(write("#tb_steptime", { zoom: { from: 1.4, to: 200.6 } })).toBe("#tb_steptime&p.tb_steptime.zoom=1-201");
});

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
    ...all(null, "step steps try zoom event range mark folds pins snapshot"),
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
  const named = (name: string, workers: Record<string, number | null>, at = 0): Selection => {
    const all = Object.entries(workers).map(([worker, rank]) => ({ name: worker, rank, spans: [span(1)] }));
    return { run: { ...run(name, []), workers: all }, worker: all[at]!, span: span(1) };
  };
  const [baseline, amp] = [named("jobs/baseline_v100", { w0: null }), named("jobs/amp_v100", { host7: null })];
  expect(namesApart(baseline, amp)).toEqual({ own: "baseline", name: "amp" });
  const unranked = [0, 1].map((at) => named("amp", { "host_01.local": null, "host_12.local": null }, at));
  expect(namesApart(unranked[0]!, unranked[1]!)).toEqual({ own: "host_01", name: "host_12" });
  const ranked = [0, 1].map((at) => named("amp", { host_01: 0, host_12: 1 }, at));
  expect(namesApart(ranked[1]!, ranked[0]!)).toEqual({ own: "rank 1", name: "rank 0" });
  expect([namesIn(ranked[1]!), namesIn(of("a", 2)), namesIn(baseline)]).toEqual([["rank 1"], ["span 2"], []]);
});

const short = (...names: string[]) => [...shortNames(names).values()];

describe("the shortest names that say runs apart", () => {
  it.each([
    ["baseline_simulated autocast_simulated", "baseline autocast"],
    ["resnet50_bs64_workers_4_amp resnet50_bs64_workers_8_amp", "workers_4 workers_8"],
    ["exp/lr=0.1/a exp/lr=0.01/a", "lr=0.1 lr=0.01"],
    ["2024-05-17_resnet 2024-05-17_vit", "resnet vit"],
    ["run_2024-05-17_1 run_2024-05-17_2", "2024-05-17_1 2024-05-17_2"],
    ["ResNet-50 ResNet-18", "ResNet-50 ResNet-18"],
    ["baseline_simulated resnet50_baseline_simulated", "baseline resnet50_baseline"],
    ["run run_2", "run run_2"],
    ["a_x a-x", "a_x a-x"],
    ["x_amp x-amp", "x_amp x-amp"],
    [". jobs/a", ". jobs/a"],
    ["only_one", "only_one"],
    ["", ""],
  ])("%s -> %s", (names, expected) => expect(short(...names.split(" ").filter(Boolean)).join(" ")).toBe(expected));

  it("leaves nothing out that one of many lacks", () => {
    expect(short("cpu_a_simulated", "cpu_b_simulated", "forum_c")).toEqual([
      "cpu_a_simulated",
      "cpu_b_simulated",
      "forum_c",
    ]);
  });
});

/** Names as people write them, made of few words so that many begin and end alike. Each test run draws the same. */
function drawnNames(seed: number): string[] {
  let state = seed * 2_654_435_761 + 1;
  const draw = (below: number) => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return Math.floor((state / 2_147_483_648) * below);
  };
  const of = (list: readonly string[]) => list[draw(list.length)]!;
  const words = ["resnet", "amp", "8", "0.1", "bs64", "Ä", "train", "2024-05-17", "步", ""];
  const names = Array.from({ length: 2 + draw(8) }, () =>
    Array.from({ length: 1 + draw(5) }, () => of(words) + of(["_", "-", "/", ".", " ", "=", ""])).join(""),
  );
  const [before, after] = [of(["", "jobs/", "exp_1_", "_"]), of(["", "_simulated", "/rank0", "-"])];
  return [...new Set(names.map((name) => before + name + after))].filter((name) => name !== "");
}

describe("whatever the names are", () => {
  const drawn = Array.from({ length: 2_000 }, (_, seed) => drawnNames(seed));
  const each = drawn.map((names) => [names, shortNames(names)] as const);

  it("none is empty, and each is a part of its name", () => {
    expect(
      each.filter(([names, got]) => names.some((name) => !got.get(name) || !name.includes(got.get(name)!))),
    ).toEqual([]);
  });

  it("no two are alike", () => {
    expect(each.filter(([names, got]) => new Set(got.values()).size !== names.length)).toEqual([]);
  });

  it("a word is whole or absent", () => {
    const inWord = (name: string, part: string) => {
      const at = name.indexOf(part);
      const [before, after] = [name[at - 1] ?? " ", name[at + part.length] ?? " "];
      const letter = /[\p{L}\p{N}]/u;
      return (letter.test(before) && letter.test(part[0]!)) || (letter.test(after) && letter.test(part.at(-1)!));
    };
    const broken = each.filter(([names, got]) =>
      names.some((name) => name.split(got.get(name)!).length === 2 && inWord(name, got.get(name)!)),
    );
    expect(broken).toEqual([]);
  });

  it("the order of the names does not matter", () => {
    for (const [names, got] of each) {
      const turned = shortNames([...names].reverse());
      expect(names.map((name) => turned.get(name))).toEqual(names.map((name) => got.get(name)));
    }
  });

  it("a folder that all of them lie in is left out", () => {
    const folders = drawn.filter(({ length }) => length > 1).map((names) => names.map((name) => `lab/of ${name}`));
    const kept = folders.filter((names) => [...shortNames(names).values()].some((name) => name.startsWith("lab/")));
    expect(kept).toEqual([]);
  });
});
