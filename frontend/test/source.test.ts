import { describe, expect, test } from "vitest";
import type { CodeLine } from "../src/api.gen";
import { lineName, sourceLine } from "../src/code_line";
import { filesOf, type Mark, marksByLine, measuresOf, sameLines, shownLines } from "../src/views/operators/source/rows";
import { editorLink } from "../src/views/operators/source/view";
import { all } from "./fixtures/all";

const line = (source: string, more: Partial<CodeLine> = {}): CodeLine => ({
  source,
  calls: 1,
  host_self_ns: 0,
  host_total_ns: 0,
  ...all(null, "device_ns launches idle_ns allocated_bytes"),
  ...more,
});

describe("a line", () => {
  test("has a file, a number and a function, as far as it is one", () => {
    expect(sourceLine("my (1)/sets.py(54): item")).toEqual({ file: "my (1)/sets.py", line: 54, function: "item" });
    expect(sourceLine("<built-in>")).toBeNull();
    expect(["data/sets.py(54): item", "odd"].map(lineName)).toEqual(["data/sets.py:54 item", "odd"]);
  });

  test("leads into an editor by its whole path", () => {
    expect(editorLink("/home/me/my job/a#b.py", 7)).toBe("vscode://file/home/me/my%20job/a%23b.py:7");
    expect(editorLink("C:\\job\\a.py", 7)).toBe("vscode://file/C:/job/a.py:7");
  });
});

test("what is shown is what is recorded, the heat is of the first of it", () => {
  const onHost = [line("a.py(1): f", { host_self_ns: 3 }), line("b.py(1): g", { host_self_ns: 9 })];
  expect(measuresOf(onHost).map(({ id }) => id)).toEqual(["host_self_ns"]);
  expect(filesOf(onHost, measuresOf(onHost)[0])).toEqual([
    { name: "b.py", heat: 9 },
    { name: "a.py", heat: 3 },
  ]);
  const onDevice = [line("a.py(1): f", { idle_ns: 5, device_ns: 2, allocated_bytes: 64, host_self_ns: 1 })];
  expect(measuresOf(onDevice).map(({ id }) => id)).toEqual(["idle_ns", "device_ns", "host_self_ns", "allocated_bytes"]);
  expect(measuresOf([]).map(({ id }) => id)).toEqual(["host_self_ns"]);
});

test("a line is the same in another run by its name, else by its function where that is the only one", () => {
  const here = ["a.py(4): f", "a.py(9): g", "a.py(20): h", "b.py(1): f"].map((source) => line(source));
  const there = ["a.py(4): f", "a.py(12): g", "a.py(21): h", "a.py(30): h"].map((source) => line(source));
  expect([...sameLines(here, there)].map(([source, other]) => [source, other.source])).toEqual([
    ["a.py(4): f", "a.py(4): f"],
    ["a.py(9): g", "a.py(12): g"],
  ]);
});

const mark = (first: number, last: number): Mark => ({ source: `a.py(${first}): f`, meaning: "function", first, last });

const written = (count: number, marks: Mark[], opened: number[] = []) =>
  shownLines(count, marks, new Set(opened)).map((each) =>
    each.kind === "line" ? `${each.line}` : `${each.first}-${each.last}`,
  );

describe("the lines that are shown", () => {
  test("are those of functions with figures and one above; others fold where that saves room", () => {
    expect(written(20, [mark(8, 9)])).toEqual(["1-6", "7", "8", "9", "10-20"]);
    expect(written(11, [mark(4, 9)])).toEqual(["1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11"]);
    expect(written(20, [mark(8, 9)], [1])).toEqual(["1", "2", "3", "4", "5", "6", "7", "8", "9", "10-20"]);
  });

  test("are of a long function those at its begin, and none of one that is not there", () => {
    expect(written(200, [mark(1, 200)]).at(-1)).toBe("62-200");
    expect(written(200, [{ source: "x", meaning: "other", first: 0, last: 0 }])).toEqual(["1-200"]);
    expect(written(0, [])).toEqual([]);
  });

  test("belong to the innermost function around them", () => {
    const [outer, inner] = [mark(2, 6), mark(3, 4)];
    expect(marksByLine(7, [inner, outer])).toEqual([
      undefined,
      undefined,
      outer,
      inner,
      inner,
      outer,
      outer,
      undefined,
    ]);
  });
});
