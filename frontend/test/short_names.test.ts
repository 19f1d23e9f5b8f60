import { describe, expect, it } from "vitest";
import { shortNames } from "../src/address/short_names";

const short = (...names: string[]) => [...shortNames(names).values()];

describe("the shortest names that say runs apart", () => {
  it.each([
    [
      ["baseline_simulated", "autocast_simulated"],
      ["baseline", "autocast"],
    ],
    [
      ["resnet50_bs64_workers_4_amp", "resnet50_bs64_workers_8_amp"],
      ["workers_4", "workers_8"],
    ],
    [
      ["exp/lr=0.1/a", "exp/lr=0.01/a"],
      ["lr=0.1", "lr=0.01"],
    ],
    [
      ["2024-05-17_resnet", "2024-05-17_vit"],
      ["resnet", "vit"],
    ],
    [
      ["run_2024-05-17_1", "run_2024-05-17_2"],
      ["2024-05-17_1", "2024-05-17_2"],
    ],
    [
      ["ResNet-50", "ResNet-18"],
      ["ResNet-50", "ResNet-18"],
    ],
    [
      ["baseline_simulated", "resnet50_baseline_simulated"],
      ["baseline", "resnet50_baseline"],
    ],
    [
      ["run", "run_2"],
      ["run", "run_2"],
    ],
    [
      ["a_x", "a-x"],
      ["a_x", "a-x"],
    ],
    [
      ["x_amp", "x-amp"],
      ["x_amp", "x-amp"],
    ],
    [
      [".", "jobs/a"],
      [".", "jobs/a"],
    ],
    [["only_one"], ["only_one"]],
    [[], []],
  ])("%j -> %j", (names, expected) => expect(short(...names)).toEqual(expected));

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
