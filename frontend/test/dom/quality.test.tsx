import { cleanup, fireEvent, render, screen } from "@testing-library/preact";
import { afterEach, expect, test, vi } from "vitest";
import type { FindingText } from "../../src/api.gen";
import { Quality } from "../../src/components/note";

afterEach(cleanup);

const nowhere = () => undefined;

const line = (id: string, label: string, cause: string, effect: string): FindingText => ({
  id,
  label,
  cause: { template: cause, values: {} },
  effect: { template: effect, values: {} },
  evidence: [],
});
const TRUST = line("trust", "Trust", "", "[Medium] for what rests on GPU time, high for the rest.");
const ROWS = line("rows", "Repaired", "2 of 633 rows run over.", "They end there.");

const shown = () => [...document.querySelectorAll(".quality p")].map((each) => each.textContent);

test("nothing, not even space, is shown where nothing is wrong", () => {
  const { container } = render(<Quality findings={[]} show={nowhere} />);
  expect(container.innerHTML).toBe("");
});

test("each finding is a line with what was done, and trust is the last", () => {
  render(<Quality findings={[ROWS, TRUST]} show={nowhere} />);
  expect(shown()).toEqual([
    "Repaired2 of 633 rows run over. They end there.",
    "Trust Medium for what rests on GPU time, high for the rest.",
  ]);
  expect(document.querySelector(".quality b")?.textContent).toBe("2 of 633 rows run over.");
  expect(screen.queryByRole("button")).toBeNull();
});

test("more than four lines fold, and trust stays", () => {
  const many = ["a", "b", "c", "d", "e"].map((id) => line(id, "Said", `${id}.`, "It is."));
  render(<Quality findings={[...many, TRUST]} show={nowhere} />);
  expect(shown()).toHaveLength(4);
  expect(shown()[3]).toContain("Trust");
  fireEvent.click(screen.getByRole("button", { name: "2 more" }));
  expect(shown()).toHaveLength(6);
  expect(screen.queryByRole("button")).toBeNull();
});

test("a finding leads to where it is seen", () => {
  const range = { step: "3", start_ns: 5, end_ns: 9 };
  const show = vi.fn();
  render(<Quality findings={[{ ...ROWS, evidence: [range, { ...range, end_ns: 7 }] }, TRUST]} show={show} />);
  fireEvent.click(screen.getByRole("button", { name: "Longest in Timeline" }));
  expect(show).toHaveBeenCalledExactlyOnceWith(range);
});
