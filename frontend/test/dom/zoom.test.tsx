import { act, cleanup, fireEvent, render, screen } from "@testing-library/preact";
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { describe, expect, test, vi } from "vitest";
import { scaleFor } from "../../src/format";
import type { TimeRange } from "../../src/time_range";
import { Production } from "../../src/views/data_loading/charts/production";
import { MetricRows } from "../../src/views/gpu/over_time";
import { QueueChart } from "../../src/views/host/queue";
import { Heatmap } from "../../src/views/trends/charts/heatmap";

const US = 1000;
const WHOLE = 1000 * US;
const SCALE = scaleFor(WHOLE, "ns");
const BINS = { start: 0, bin: 10 * US, values: Array.from({ length: 100 }, (_, at) => 10 * at) };
const STEPS = [0, 500].map((start, at) => ({
  key: String(at + 5),
  from: start * US,
  to: (start + 500) * US,
  at: start * US,
  text: `step ${at + 5}`,
  slow: false,
}));

interface Pictured {
  zoom: TimeRange | null;
  setZoom(zoom: TimeRange | null): void;
  select(key: string | null): void;
}

const tip = () => ({ title: "tip", rows: [] });
const still = { hovered: null, selected: null, hover: () => {} };

/** All pictures of time that zoom, each over the same 1 ms of two steps. */
const PICTURES: Readonly<Record<string, (props: Pictured) => ComponentChildren>> = {
  "rows of figures": (props) => (
    <MetricRows
      label="picture"
      whole={WHOLE}
      scale={SCALE}
      steps={STEPS}
      {...still}
      {...props}
      rows={[
        {
          key: "a",
          name: "Busy",
          meaning: "",
          value: "",
          thin: false,
          layers: [{ label: "Busy", colour: "kernel", hatched: false, levels: [BINS] }],
        },
      ]}
    />
  ),
  "the queue": (props) => (
    <QueueChart
      label="picture"
      from={0}
      to={WHOLE}
      scale={SCALE}
      phases={[]}
      means={[BINS]}
      peaks={[BINS]}
      runAhead={[BINS]}
      device={[{ label: "Kernel", colour: "kernel", hatched: false, levels: [BINS] }]}
      {...props}
    />
  ),
  production: ({ select }) => (
    <Production
      label="picture"
      from={0}
      to={WHOLE}
      scale={SCALE}
      steps={STEPS}
      parts={[{ label: "Dataset", colour: "data", hatched: false }]}
      lanes={[{ key: "0", name: "Worker 0", start_ns: [0], end_ns: [WHOLE], part: [0] }]}
      depths={[]}
      segmentTip={tip}
      {...still}
      select={select}
    />
  ),
  "heatmap rows": ({ select }) => (
    <Heatmap
      end={WHOLE}
      label="picture"
      scale={SCALE}
      colour="kernel"
      tip={(row, step) => ({ title: `row ${row}, step ${step}`, rows: [] })}
      {...still}
      select={select}
      rows={[{ key: "a", name: "run", second: "span 1", value: "50 %", bins: BINS, steps: STEPS }]}
    />
  ),
};

function Held({
  picture,
  select,
}: {
  picture: (props: Pictured) => ComponentChildren;
  select(key: string | null): void;
}) {
  const [zoom, setZoom] = useState<TimeRange | null>(null);
  return <>{picture({ zoom, setZoom, select })}</>;
}

/** The labels of the time axis from left to right. */
const axis = () => [...document.querySelectorAll("svg.chart[height='22'] text")].map((tick) => tick.textContent);

function drag(from: number, to: number): void {
  const picture = screen.getByLabelText("picture");
  fireEvent.pointerDown(picture, { clientX: from, button: 0 });
  fireEvent.pointerMove(picture, { clientX: to });
  fireEvent.pointerUp(picture, { clientX: to });
}

/** What a screen reader says about the place chosen by keys: the value of a slider, or a grid's active cell. */
function heard(picture: HTMLElement): string | null {
  if (picture.getAttribute("role") === "grid")
    return document.getElementById(picture.getAttribute("aria-activedescendant") ?? "")?.textContent ?? null;
  return picture.getAttribute("aria-valuenow") === "0"
    ? null
    : picture.getAttribute("aria-valuetext")!.replaceAll("\u00a0", " ");
}

/** What is heard at the first place and at the last place. */
const ENDS: Readonly<Record<string, readonly string[]>> = {
  "rows of figures": ["Step 5, 0.25 to 0.26 ms, Busy 25.0 %", "Step 6, 0.75 to 0.76 ms, Busy 75.0 %"],
  "the queue": [
    "0 ms, Queue, mean 0, Queue, peak 0, Run-ahead, mean 0 ms, Kernel 0 %",
    "1.0 ms, Queue, mean 0.99, Queue, peak 990, Run-ahead, mean 990 ns, Kernel 99.0 %",
  ],
  production: ["tip, Step 5", "tip, Step 6"],
  "heatmap rows": ["row 0, step 0", "row 0, step 1"],
};

describe.each(Object.keys(PICTURES))("%s", (name) => {
  const draw = (select = vi.fn()) => {
    cleanup();
    render(<Held picture={PICTURES[name]!} select={select} />);
    return select;
  };

  test("a drag zooms to what it covers, a double click shows all again", () => {
    draw();
    const all = axis();
    drag(600, 800);
    const zoomed = axis();
    expect(zoomed).not.toEqual(all);
    expect(zoomed.length).toBeGreaterThan(2);
    expect(Number.parseFloat(zoomed[0]!)).toBeGreaterThan(0.4); // ms
    fireEvent.dblClick(screen.getByLabelText("picture"));
    expect(axis()).toEqual(all);
  });

  test("a press is no drag, and one in the gutter does nothing", () => {
    draw();
    const all = axis();
    drag(600, 602);
    drag(10, 20);
    expect(axis()).toEqual(all);
  });

  test("Escape shows all again", () => {
    draw();
    const all = axis();
    drag(600, 800);
    act(() => screen.getByLabelText("picture").focus());
    fireEvent.keyDown(screen.getByLabelText("picture"), { key: "Escape" });
    expect(axis()).toEqual(all);
  });

  test("keys go to the ends, and say where they are", () => {
    draw();
    const picture = screen.getByLabelText("picture");
    expect(heard(picture)).toBeNull();
    fireEvent.keyDown(picture, { key: "End" });
    const last = heard(picture);
    fireEvent.keyDown(picture, { key: "Home" });
    expect([heard(picture), last]).toEqual(ENDS[name]);
    fireEvent.keyDown(picture, { key: "Escape" });
    expect(heard(picture)).toBeNull();
  });

  if (name === "the queue") return; // it shows only one step

  test("a press keeps the step under it", () => {
    const select = draw();
    const picture = screen.getByLabelText("picture");
    fireEvent.pointerMove(picture, { clientX: 900, clientY: 10 });
    drag(900, 900);
    expect(select).toHaveBeenLastCalledWith("6");
  });
});
