import { renderToString } from "preact-render-to-string";
import { describe, expect, test } from "vitest";
import { scaleFor } from "../src/format";
import { ColumnsPlot, periodsOf } from "../src/views/data_loading/burst";
import { gutterOf, ProductionPlot, rowHeight, segmentAt } from "../src/views/data_loading/charts/production";
import { around, boxOf, cut, freeLabel } from "../src/views/data_loading/charts/worker_curve_layout";
import { bent, CurvePlot } from "../src/views/data_loading/worker_curve";
import { BURST, CURVE } from "./fixtures/loading";
import { textsOf } from "./fixtures/words";

const MS = 1_000_000;
describe("the curve over workers", () => {
  const scale = scaleFor(120 * MS, "ns");
  const plot = (curve = CURVE, recommended = "recommended") =>
    renderToString(
      <CurvePlot
        label="Curve."
        width={624}
        points={curve.points}
        measured={{ workers: curve.measured_workers, ns: curve.measured_step_ns, text: "now" }}
        others={[]}
        scale={scale}
        recommended={{ workers: curve.recommended, ns: curve.floor_ns, text: recommended }}
        gain={{ ns: curve.gain_ns, text: "up to 20 ms" }}
        loader="loader"
        cores={{ workers: 4, text: "4 cores" }}
        tip={() => ({ title: "", rows: [] })}
      />,
    );

  test("names what is measured, what is recommended, what it saves, the loader and the cores", () => {
    const text = textsOf(plot());
    for (const each of ["now", "recommended", "up to 20 ms", "loader", "4 cores", "num_workers"])
      expect(text).toContain(`|${each}|`);
  });

  test("is reached by keyboard and has a sentence", () => {
    expect(plot()).toContain('role="slider" tabindex="0" aria-label="Curve."');
  });

  test("nothing to save is no bar", () => {
    expect(plot({ ...CURVE, gain_ns: 0 })).not.toContain('class="saved"');
  });

  test("cores beyond the axis are no line", () => {
    expect(plot()).toContain('class="ref"');
    expect(textsOf(plot({ ...CURVE, points: CURVE.points.slice(0, 3), recommended: 3 }))).not.toContain("4 cores");
  });

  test("what is recommended stands across the line of cores rather than nowhere", () => {
    const points = Array.from({ length: 8 }, (_, at) => ({
      workers: at + 1,
      step_ns: Math.max(15, 19 / (at + 1)) * MS,
      loader_ns: (19 / (at + 1)) * MS,
    }));
    const curve = { ...CURVE, points, measured_workers: 0, measured_step_ns: 33 * MS, gain_ns: 18 * MS };
    const html = plot({ ...curve, recommended: 2, floor_ns: 15 * MS }, "recommended: 2 workers, about 15 ms");
    expect(textsOf(html)).toContain("|recommended: 2 workers, about 15 ms|");
    const [, x] = /<text[^>]* x="([\d.]+)"[^>]*>recommended/.exec(html)!;
    const cores = Number(/class="ref" x1="([\d.]+)"/.exec(html)![1]);
    expect(Number(x) < cores && Number(x) + 200 > cores).toBe(true);
  });

  test("has room for what is recommended, however much longer than now that is", () => {
    const html = plot({ ...CURVE, measured_step_ns: 1 * MS, recommended: 1, floor_ns: 120 * MS, gain_ns: 0 });
    const height = Number(/class="goal" cx="[^"]+" cy="([^"]+)"/.exec(html)![1]);
    expect(height).toBeGreaterThanOrEqual(12);
  });

  test("enters the picture where it falls below its top", () => {
    const dots = [
      { x: 0, y: -10 },
      { x: 10, y: 10 },
      { x: 20, y: 15 },
    ];
    expect(cut(dots, 0)).toEqual([
      { x: 5, y: 0 },
      { x: 10, y: 10 },
      { x: 20, y: 15 },
    ]);
    expect(cut(dots.slice(1), 0)).toEqual(dots.slice(1));
    expect(cut(dots.slice(0, 1), 0)).toEqual([]);
  });

  test("is a hyperbola between whole numbers: half way from one to two workers a third is saved", () => {
    const [at] = bent(
      [
        { x: 0, y: 100 - 60 },
        { x: 10, y: 100 - 30 },
      ],
      100,
    ).filter((dot) => dot.x === 5);
    expect(100 - at!.y).toBeCloseTo(40);
  });
});

describe("words next to marks", () => {
  const frame = { left: 0, right: 300, top: 0, bottom: 100 };

  test("stand where nothing else does, inside the frame", () => {
    const taken = [around({ x: 100, y: 50 }, 5)];
    const first = freeLabel("one", { x: 100, y: 50 }, frame, taken, [])!;
    const second = freeLabel("two", { x: 100, y: 50 }, frame, taken, [])!;
    expect([first.anchor, first.y]).toEqual(["start", 43]);
    expect(boxOf(second).top).toBeGreaterThan(boxOf(first).bottom);
    expect(freeLabel("far too long for the frame".repeat(3), { x: 100, y: 50 }, frame, taken, [])).toBeNull();
  });

  test("keep off lines", () => {
    const label = freeLabel(
      "one",
      { x: 100, y: 50 },
      frame,
      [],
      [
        [
          { x: 100, y: 40 },
          { x: 300, y: 40 },
        ],
      ],
    )!;
    expect(boxOf(label).top > 40 || boxOf(label).right < 100).toBe(true);
  });
});

describe("waits in the order of batches", () => {
  test("a bracket joins long waits that are one period apart, and no others", () => {
    expect(periodsOf(BURST.waits, 3)).toEqual([
      [0, 3],
      [3, 6],
    ]);
    const gone = BURST.waits.map((wait, at) => (at === 3 ? { ...wait, long: false } : wait));
    expect(periodsOf(gone, 3)).toEqual([]);
  });

  test("are columns, the short ones fainter, with the period's length once", () => {
    const html = renderToString(
      <ColumnsPlot
        label="Waits."
        width={600}
        columns={BURST.waits.map((wait) => ({
          key: wait.step,
          exposed_ns: wait.wait_ns,
          hidden_ns: 0,
          long: wait.long,
        }))}
        periods={periodsOf(BURST.waits, 3)}
        periodText="3 batches"
        scale={scaleFor(60 * MS, "ns")}
        hovered={null}
        selected="8"
        hover={() => {}}
        select={() => {}}
        tip={() => ({ title: "", rows: [] })}
      />,
    );
    expect(/class="mark" d="([^"]*)"/.exec(html)![1]!.match(/M/g)).toHaveLength(3);
    expect(html.match(/3 batches/g)).toHaveLength(1);
    expect(html.match(/class="choice"/g)).toHaveLength(1);
  });
});

describe("lanes of workers", () => {
  const lane = { key: "0", name: "Worker 0", start_ns: [10, 30], end_ns: [20, 40], part: [0, 1] };

  test("find the segment under the pointer, and none between two", () => {
    expect([5, 10, 19, 20, 39, 40].map((ns) => segmentAt(lane, ns))).toEqual([null, 0, 0, null, 1, null]);
  });

  test("begin where the longest name ends", () => {
    const named = (name: string) =>
      gutterOf({ lanes: [{ ...lane, name }], depths: [{ key: "0", name: "Ready", at_ns: [], depth: [] }] });
    expect([named("Worker 0"), named("Evaluation loader: worker 0")]).toEqual([104, 165]);
  });

  test("share the height: many workers are lower, none vanishes", () => {
    expect([1, 8, 9, 16, 32, 200].map(rowHeight)).toEqual([26, 26, 18, 18, 12, 8]);
  });

  test("are drawn by part, with ready batches below and the chosen step ringed", () => {
    const html = renderToString(
      <ProductionPlot
        label="Lanes."
        width={704}
        from={0}
        to={60}
        lanes={[lane]}
        parts={[
          { label: "a", colour: "data", hatched: false },
          { label: "b", colour: "cpu", hatched: true },
        ]}
        depths={[{ key: "0", name: "Ready", at_ns: [0, 30], depth: [2, 0] }]}
        steps={[
          { key: "5", at: 0 },
          { key: "6", at: 30 },
        ]}
        scale={scaleFor(60, "ns")}
        hovered={null}
        selected="6"
        hover={() => {}}
        select={() => {}}
        segmentTip={() => ({ title: "", rows: [] })}
      />,
    );
    expect(textsOf(html)).toContain("|Worker 0|Ready|2|0|step 5|6|");
    expect(html).toContain('class="mark" d="M205.0 22h99.0v22H205.0z"');
    expect(html).toContain("fill:url(#hatch-cpu)");
    expect(html.match(/class="ring" x="404"/g)).toHaveLength(1);
  });
});
