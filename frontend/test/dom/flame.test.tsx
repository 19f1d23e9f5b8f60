import { cleanup, fireEvent, render, screen, waitFor } from "@testing-library/preact";
import { useState } from "preact/hooks";
import { expect, test, vi } from "vitest";
import type { Address, Changes } from "../../src/address/keys";
import type { FlamePage, OperatorsResult } from "../../src/api.gen";
import type { Answer } from "../../src/server/client";
import { FlameGraph } from "../../src/views/operators/flame/picture";
import { FLAME } from "../fixtures/flame";
import { ready, TAB } from "../fixtures/pages";

const RESULT = {
  steps: [{ name: "5" }, { name: "6" }],
  recorded: { ops: true, shapes: false, stacks: true, modules: false, backward: true },
  tables: [{ by: "name", where: "made" }],
} as unknown as OperatorsResult;

const GONE: Answer<FlamePage> = {
  kind: "problem",
  value: { problem: "Only the summary of this trace is here", file: "", hint: "Put the trace back." },
};

/** Every element counts as near the window. */
vi.stubGlobal(
  "IntersectionObserver",
  class {
    constructor(private readonly found: (all: { isIntersecting: boolean }[]) => void) {}
    observe = () => this.found([{ isIntersecting: true }]);
    disconnect = () => {};
  },
);

/** Draws the graph. Returns the requests to the server, and the changes of the address. */
async function show(state: Address = {}, answer: Answer<FlamePage> = ready(FLAME), result = RESULT) {
  const requests: string[] = [];
  const changed: Changes[] = [];
  const flame = async (_span: string, { by, where }: { by: string; where: string }) => {
    requests.push(`${by} ${where}`);
    return answer;
  };
  const events = { ...TAB.source, flame };
  function Addressed() {
    const [now, setNow] = useState(state);
    const update = (keys: Changes) => {
      changed.push(keys);
      setNow((before) => ({ ...before, ...keys }) as Address);
    };
    const tab = { ...TAB, state: now, source: events, update };
    return <FlameGraph part={{ result, titles: {}, tab, name: "a", compared: null }} span="id-1" />;
  }
  render(<Addressed />);
  if (answer.kind === "ready") await screen.findByRole("application");
  return { asked: requests, changed };
}

const shownText = (): string =>
  screen
    .getAllByRole("status")
    .map((each) => each.textContent)
    .join("")
    .replaceAll("\u00a0", " ");

const keyed = (...keys: string[]) => {
  for (const key of keys) fireEvent.keyDown(screen.getByRole("application"), { key });
};

test("the call tree opens along what takes most, zooms the graph, and follows it", async () => {
  const { changed } = await show();
  const items = () => screen.getAllByRole("treeitem").map((each) => each.querySelector(".clip")!.textContent);
  const before = items();
  const tree = screen.getByRole("tree", { name: "Call tree" });
  fireEvent.keyDown(tree, { key: "ArrowLeft" });
  expect(items().length).toBeLessThan(before.length);
  fireEvent.keyDown(tree, { key: "ArrowRight" });
  expect(items()).toEqual(before);
  fireEvent.click(screen.getAllByRole("treeitem")[1]!);
  expect(changed.at(-1)!.frame).toBeTruthy();
  await waitFor(() => expect(screen.getAllByRole("treeitem")[1]!.getAttribute("aria-selected")).toBe("true"));
  expect(screen.getByRole("navigation", { name: "Zoomed into" }).textContent).toContain(before[1]!);
});

test("a frame of Python chooses its line, whose rows of the call tree are marked; an op chooses none", async () => {
  const { changed } = await show();
  const marked = () => [...document.querySelectorAll(".of-line .clip")].map((each) => each.textContent);
  const press = (name: string) =>
    fireEvent.click(screen.getAllByRole("treeitem").find((each) => each.textContent!.includes(name))!);
  press("aten::linear");
  expect([changed.at(-1)!.line, marked()]).toEqual([undefined, []]);
  press("train.py:9 step"); // as tables name it
  expect([changed.at(-1)!.line, marked()]).toEqual(["train.py(9): step", ["train.py:9 step"]]);
});

test("keys walk from the whole to the largest frame below, and say what is there", async () => {
  const { asked: requests } = await show();
  expect(requests).toEqual(["stack ran"]);
  expect(screen.getByText("5.0 ms a step")).toBeTruthy();
  keyed("ArrowDown", "ArrowDown", "ArrowDown");
  expect(shownText()).toBe("aten::linear, kind op, total 3.5 ms, self 0 ms, of the whole 70 %, calls in all steps 7");
  keyed("ArrowRight");
  expect(shownText()).toContain("aten::gelu, kind op, total 1.0 ms");
});

test("the graph follows the totals that the reader chose for tables", async () => {
  await show({ totals: "recording" });
  expect(screen.getByText("10.0 ms in 2 steps")).toBeTruthy();
});

test("Enter zooms, the way there leads back, and Esc and Backspace go one frame out", async () => {
  const { changed } = await show();
  keyed("ArrowDown", "ArrowDown", "ArrowDown", "Enter");
  const way = screen.getByRole("navigation", { name: "Zoomed into" });
  expect(way.textContent).toBe("all › train.py:9 step › aten::linear");
  keyed("Escape");
  expect(way.textContent).toBe("all › train.py:9 step");
  fireEvent.click(screen.getByRole("button", { name: "all" }));
  expect(screen.queryByRole("navigation")).toBeNull();
  keyed("Enter", "Backspace");
  expect(screen.queryByRole("navigation")).toBeNull();
  expect(shownText()).toContain("all, total 5.0 ms");
  expect(changed.map(({ frame }) => typeof frame)).toEqual(["string", "string", "object", "string", "object"]);
});

test("the address holds what is zoomed into, in another measure too", async () => {
  const { changed } = await show();
  keyed("ArrowDown", "ArrowDown", "ArrowDown", "Enter");
  cleanup();
  const { frame } = changed[0]!;
  await show({ frame: frame!, cost: "host" });
  expect(screen.getByRole("navigation").textContent).toBe("all › train.py:9 step › aten::linear");
  fireEvent.click(screen.getByRole("button", { name: "Bottom up" }));
  expect(screen.queryByRole("navigation")).toBeNull();
});

test("a kind that is hidden costs its callers what it cost, and the sums stay", async () => {
  const { changed } = await show();
  fireEvent.click(screen.getByRole("button", { name: "kernel" }));
  expect(changed).toEqual([{ kinds: new Set(["kernel"]) }]);
  keyed("ArrowDown", "ArrowDown", "ArrowDown", "ArrowDown");
  expect(shownText()).toContain("aten::linear, kind op, total 3.5 ms, self 3.5 ms");
  expect(screen.getByText("What hidden frames cost counts for their callers; the sums stay.")).toBeTruthy();
  fireEvent.click(screen.getByRole("button", { name: "kernel" }));
  expect(changed[1]).toEqual({ kinds: null });
});

test("what is looked for is summed, once where it is inside itself", async () => {
  await show({ seek: "linear" });
  expect(shownText()).toBe("70 % of device time, 3.5 ms in 1 frame");
});

test("the address holds the measure, the grouping and the direction", async () => {
  const { asked: requests, changed } = await show({ paths: "op", cost: "host", turned: "up", work: "made" });
  expect(requests).toEqual(["op made"]);
  expect(screen.getByRole("heading").textContent).toBe("Which code takes the CPU's time?");
  for (const name of ["Device", "Line", "Top down"]) fireEvent.click(screen.getByRole("button", { name }));
  expect(changed).toEqual([{ cost: null }, { paths: null, frame: null }, { turned: null, frame: null }]);
});

test("its menu saves stacks for other programs", async () => {
  await show();
  const saved: Blob[] = [];
  vi.spyOn(URL, "createObjectURL").mockImplementation((blob) => {
    saved.push(blob as Blob);
    return "blob:1";
  });
  for (const name of ["Save as folded stacks", "Save for speedscope"]) {
    fireEvent.click(screen.getByRole("button", { name: /^Show as table/ }));
    fireEvent.click(screen.getByRole("menuitem", { name }));
  }
  await waitFor(() => expect(saved).toHaveLength(2));
  expect(await saved[0]!.text()).toContain("train.py(9): step;aten::linear;gemm 7000000\n");
  expect(JSON.parse(await saved[1]!.text()).profiles[0].endValue).toBe(10_000_000);
});

test("without a GPU its title speaks of the CPU, before the trace is read, too", async () => {
  await show({}, GONE, { ...RESULT, has_device: false });
  expect(screen.getByRole("heading", { name: "Which code takes the CPU's time?" })).toBeTruthy();
});

test("a graph of many frames comes in parts, and what was chosen meanwhile is what is drawn", async () => {
  const many = 25_000;
  const all = (value: number) => Array<number>(many).fill(value);
  const large: FlamePage = {
    ...FLAME,
    parent: [-1, ...all(0)].join(),
    label: [0, ...all(3)].join(),
    merged: [0, ...all(0)].join(),
    calls: [0, ...all(1)].join(),
    device_ns: [many, ...all(1)].join(),
    host_ns: [2 * many, ...all(2)].join(),
  };
  const shown = show({}, ready(large));
  expect(screen.queryByRole("application")).toBeNull();
  fireEvent.click(await screen.findByRole("button", { name: "Host" }));
  await shown;
  keyed("Home");
  expect(shownText()).toContain("all, total 25 µs");
});

test("without the trace it says what is needed", async () => {
  await show({}, GONE);
  expect(await screen.findByText(/Only the summary of this trace is here\. Put the trace back\./)).toBeTruthy();
});
