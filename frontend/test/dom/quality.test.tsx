import { fireEvent, render, screen } from "@testing-library/preact";
import { expect, test, vi } from "vitest";
import type { FindingText } from "../../src/api.gen";
import { Quality } from "../../src/components/note";
import { MeanStepBar } from "../../src/views/mean_step_bar";

const nowhere = () => undefined;

const line = (id: string, label: string, cause: string, effect: string): FindingText => ({
  id,
  label,
  cause: { template: cause, values: {} },
  effect: { template: effect, values: {} },
  evidence: [],
  affects: [],
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
  const many = ["a", "b", "c", "d", "e"].map((id) => line(id, "Note", `${id}.`, "It is."));
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

test("what the recording lacks is dashed behind the step, on one axis with it", () => {
  const kernels = { id: "kernel", label: "Kernels", colour: "kernel", hatched: false, ns: 60e6 };
  const bar = (missing_ns: number) => (
    <MeanStepBar
      label={() => "Mean step"}
      step={{ name: "Mean step", ns: 60e6, parts: [kernels], missing_ns }}
      other={null}
      braces={[]}
      off={new Set()}
    />
  );
  const drawn = () => [...document.querySelectorAll<HTMLElement>(".stack i")].map((each) => each.style.width);
  const { rerender } = render(bar(20e6));
  expect(drawn()).toEqual(["75.000%", "25.000%"]);
  expect(document.querySelector(".saved")?.textContent).toBe("not recorded");
  expect(document.querySelector(".saved")?.getAttribute("data-hint")).toMatch(/est\. 20\.0\sms of GPU time/);
  rerender(bar(0));
  expect(drawn()).toEqual(["100.000%"]);
});

test("no tick stands where the name of a step that was cut off does", () => {
  const kernels = { id: "kernel", label: "Kernels", colour: "kernel", hatched: false, ns: 60e6 };
  const step = { name: "Mean step", ns: 60e6, parts: [kernels], missing_ns: 60e6 };
  render(<MeanStepBar label={() => "Mean step"} step={step} other={null} braces={[]} off={new Set()} />);
  const ticks = [...document.querySelectorAll(".ticks [aria-hidden]")].map((tick) => tick.textContent);
  expect(ticks).toEqual(["0", "20", "40", "80", "100"]);
});

test("what does not repeat is hatched at the end of the step, before what was not recorded", () => {
  const kernels = { id: "kernel", label: "Kernels", colour: "kernel", hatched: false, ns: 80e6 };
  const step = { name: "Mean step", ns: 80e6, parts: [kernels], missing_ns: 20e6, leftOut_ns: 30e6 };
  render(<MeanStepBar label={() => "Mean step"} step={step} other={null} braces={[]} off={new Set()} />);
  const { left, width } = document.querySelector<HTMLElement>(".left-out")!.style;
  expect([left, width]).toEqual(["50.000%", "30.000%"]);
});
