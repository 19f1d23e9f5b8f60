import { fireEvent, render, screen } from "@testing-library/preact";
import { expect, test } from "vitest";
import type { PageOf } from "../../src/api.gen";
import { Host } from "../../src/views/host/host";
import { BLOCKING, hostPage, hostTab, MS, RESULT, TITLES } from "../fixtures/host";
import { plain } from "../fixtures/pages";
import { textsOf } from "../fixtures/words";

function drawn(result = RESULT, state = {}, titles = TITLES as PageOf<"host">["titles"]): string {
  render(<Host page={hostPage(result, titles)} tab={hostTab(state)} compared={null} />);
  return textsOf(document.body.innerHTML.replace(/<svg.*?<\/svg>/gs, "").replaceAll("&nbsp;", " "));
}

test("calls that cost nothing are a table, too", () => {
  expect(drawn(RESULT)).toContain("|outside any op|Optimizer|cudaEventSynchronize|8|30 µs|0 µs|");
});

const { blocking_remark: _, ...OTHERS } = TITLES;
const titles = { ...OTHERS, blocking: plain("Blocking calls leave the GPU idle for 12.0 ms a step") };
const BLOCKED = { ...RESULT, blocking: [BLOCKING], blocking_bubble_ns: 12 * MS };

test("names what blocks, and for backward the forward line that made it", () => {
  expect(drawn(BLOCKED, {}, titles)).toContain(
    "|aten::_local_scalar_dense|, in aten::item|Backward: autograd nodes|cudaMemcpyAsync + " +
      "cudaStreamSynchronize|train.py:41 forward| Encoder_0|2|30.0 ms|12.0 ms|",
  );
});

test("the line that blocks leads to its text, and its row to the Timeline", () => {
  const requests: unknown[] = [];
  const tab = { ...hostTab({}), update: (changes: unknown) => requests.push(changes) };
  render(<Host page={hostPage(BLOCKED, titles)} tab={tab} compared={null} />);
  fireEvent.click(screen.getByRole("button", { name: "train.py:41 forward" }));
  expect(requests).toEqual([{ view: "operators", line: "train.py(41): forward", mark: null }]);
  fireEvent.click(screen.getByText("aten::_local_scalar_dense"));
  expect(requests[1]).toMatchObject({ view: "timeline" });
});

test("says which call waits for what ranks exchange", () => {
  const exchanged = { ...BLOCKED, blocking: [{ ...BLOCKING, collective: "all-reduce" }] };
  expect(drawn(exchanged, {}, titles)).toContain("|aten::_local_scalar_dense|, in aten::item, waits for all-reduce|");
});

test("a filter that finds no call says so", () => {
  const page = drawn(BLOCKED, { calls: "nothing" }, titles);
  expect(page).toContain("|0 of 1|");
  expect(page).toContain("|No call matches |nothing|. |Clear|");
});

test.each([
  ["sites", "GPU idle time by the launch that ended it", "Blocking calls"],
  ["blocking", "Blocking calls", "GPU idle time by the launch that ended it"],
])("below what to do is the table with its evidence (%s), and the other is folded", (table, shown, away) => {
  const page = hostPage(BLOCKED, titles);
  const [first, ...others] = page.insights;
  const insights = [{ ...first!, row: { table, key: "" } }, ...others];
  render(<Host page={{ ...page, insights }} tab={hostTab({})} compared={null} />);
  const tables = [...document.querySelectorAll(".cards > li, table")];
  const labels = tables.map((each) => each.getAttribute("aria-label") ?? "card");
  expect(labels.slice(0, 2)).toEqual(["card", shown]);
  expect(folded().querySelector("table")!.getAttribute("aria-label")).toBe(away);
  expect(folded().contains(document.querySelector("svg.queue-chart"))).toBe(table === "blocking");
});

const folded = () => document.querySelector<HTMLDetailsElement>("details.fold")!;

test("what answers no question at first sight is folded under a line that names it", () => {
  const requests: unknown[] = [];
  const tab = (state = {}) => ({ ...hostTab(state), update: (changes: unknown) => requests.push(changes) });
  const view = (state = {}) => <Host page={hostPage(RESULT, TITLES)} tab={tab(state)} compared={null} />;
  const { rerender } = render(view());
  expect(folded().open).toBe(false);
  expect(folded().querySelector("summary")!.textContent).toBe(
    "More: CPU limit, blocking calls, idle time by step, ranges",
  );
  const heads = [...folded().querySelectorAll("h2")].map(({ textContent }) => textContent);
  expect(heads[0]).toBe("Is the CPU the limit?");
  expect(heads).toContain("Time of named ranges");
  expect(heads[1]).toBe("No blocking call costs GPU time");
  fireEvent.click(folded().querySelector("summary")!);
  rerender(view({ more: "open" }));
  expect(folded().open).toBe(true);
  fireEvent.click(folded().querySelector("summary")!);
  expect(requests).toEqual([{ more: "open" }, { more: null, mark: null }]);
});

test("a link to one of its rows opens it, and a link to another table's does not", () => {
  drawn(RESULT, { mark: "pauses:7" });
  expect(folded().open).toBe(true);
  document.body.replaceChildren();
  drawn(RESULT, { mark: "sites:forward" });
  expect(folded().open).toBe(false);
});
