/** The roofline: its dots can be chosen by keyboard and pointer, and lead to their kernel. */

import { cleanup, fireEvent, render, screen } from "@testing-library/preact";
import type { ComponentProps } from "preact";
import { expect, test, vi } from "vitest";
import type { RooflineDot } from "../../src/api.gen";
import { type RooflineMark, RooflinePlot } from "../../src/views/gpu/charts/roofline";
import { memoryLabel, roofLine, roofName, scalesOf } from "../../src/views/gpu/charts/roofline_layout";
import { GpuRoofline } from "../../src/views/gpu/roofline";
import { plain, TAB } from "../fixtures/pages";

const FRAME = { left: 0, right: 300, top: 0, foot: 200 };
const ROOFS = [{ name: "BF16", tflops: 100 }];

const NONE: ReadonlySet<string> = new Set();

const point = (key: string, x: number, y: number) => ({
  key,
  x,
  y,
  area: 1,
  colour: "kernel",
  shape: "circle" as const,
  group: key,
  tip: { title: key, rows: [{ name: "Of its roof", value: "50 %" }] },
});

test("axes end at powers of ten, and the roofs meet at peak over bandwidth", () => {
  const scales = scalesOf([point("a", 1, 1), point("b", 100, 10)], ROOFS, 1000, FRAME);
  expect(scales.xs).toEqual([1, 100]);
  expect(scales.ys).toEqual([1, 100]);
  expect([scales.x(1), scales.x(10), scales.x(100)]).toEqual([0, 150, 300]);
  // 1000 GB/s x 1 FLOP/byte is 1 TFLOP/s, and 100 TFLOP/s are reached at 100 FLOP/byte.
  const line = roofLine(100, 1000, scales).map(([x, y]) => [Math.round(x), Math.round(y)]);
  expect(line).toEqual([
    [0, 200],
    [300, 0],
    [300, 0],
  ]);
});

test("the slope's name ends left of the slope and above it", () => {
  const slope: [number, number][] = [
    [0, 200],
    [300, 0],
  ];
  // At x = 67, the slope is at y = 155.
  expect(memoryLabel(slope, 50, 0)).toEqual({ x: 67, y: 148 });
  // The slope has no length, so its label is above the roof.
  expect(
    memoryLabel(
      [
        [0, 50],
        [0, 50],
      ],
      60,
      0,
    ),
  ).toEqual({ x: 68, y: 42 });
});

test("the name of a flat roof is where fewer dots are: above its right end or its left one", () => {
  const roof: [number, number][] = [
    [0, 100],
    [100, 50],
    [300, 50],
  ];
  const dot = (x: number, y = 48) => ({ x, y, r: 4 });
  expect(roofName(roof, 60, [])).toEqual({ x: 300, y: 46 });
  expect(roofName(roof, 60, [dot(280)])).toEqual({ x: 168, y: 46 });
  expect(roofName(roof, 60, [dot(280), dot(130), dot(140)])).toEqual({ x: 300, y: 46 });
  expect(roofName(roof, 60, [dot(280, 70), dot(280, 20), dot(230)])).toEqual({ x: 300, y: 46 });
  // The roof is shorter than its name.
  expect(roofName(roof, 250, [dot(280)])).toEqual({ x: 300, y: 46 });
});

const plotOf = (points: readonly RooflineMark[], more: Partial<ComponentProps<typeof RooflinePlot>> = {}) => (
  <RooflinePlot
    label="Roofline"
    points={points}
    off={NONE}
    roofs={ROOFS}
    memory_gbs={1000}
    chosen={null}
    choose={() => {}}
    {...more}
  />
);

test("arrow keys go from dot to dot, and Enter opens", () => {
  const choose = vi.fn();
  const { getByRole } = render(plotOf([point("large", 1, 1), point("small", 10, 10)], { choose }));
  const plot = getByRole("slider");
  fireEvent.keyDown(plot, { key: "ArrowRight" });
  fireEvent.keyDown(plot, { key: "ArrowRight" });
  expect(plot.getAttribute("aria-valuetext")).toBe("small, Of its roof 50 %");
  fireEvent.keyDown(plot, { key: "Enter" });
  expect(choose).toHaveBeenCalledWith("small");
});

test("the dot of the open kernel has a ring, and a tip only while the pointer or the keys are on one", () => {
  const dots = [point("large", 1, 1), point("small", 10, 10)];
  const { getByRole, container } = render(plotOf(dots, { chosen: "small" }));
  const [plot, tip] = [getByRole("slider"), () => container.querySelector(".tip")?.textContent ?? ""];
  const rings = () => [...container.querySelectorAll("path[stroke-width='2']")].map((ring) => ring.getAttribute("d"));
  const [ring] = rings();
  expect([rings().length, tip()]).toEqual([1, ""]);
  fireEvent.keyDown(plot, { key: "ArrowRight" });
  expect(tip()).toContain("large");
  expect(rings()).not.toContain(ring);
  fireEvent.blur(plot);
  expect([rings(), tip()]).toEqual([[ring], ""]);
});

test("a group that is hidden is passed over, and the axes stay", () => {
  const points = [point("large", 1, 1), point("middle", 3, 3), point("small", 1000, 10)];
  const plot = (off: ReadonlySet<string>) => plotOf(points, { off });
  const { getByRole, container, rerender } = render(plot(NONE));
  const ticks = container.textContent;
  rerender(plot(new Set(["middle"])));
  expect(container.textContent).toBe(ticks);
  const slider = getByRole("slider");
  fireEvent.keyDown(slider, { key: "ArrowRight" });
  fireEvent.keyDown(slider, { key: "ArrowRight" });
  expect(slider.getAttribute("aria-valuetext")).toContain("small");
  expect(slider.getAttribute("aria-valuemax")).toBe("2");
});

test("without a limit of the GPU no picture is drawn, and the menu has the table", () => {
  const dot: RooflineDot = {
    ...{ op: "aten::mm", shapes: "[[4,4],[4,4]]", dtype: "float", kernel: "gemm", short: "gemm", kernel_count: 1 },
    ...{ calls: 1, total_ns: 1000, flops: 128, bytes: 192, tensor_cores: false, roof_tflops: null, efficiency: null },
    ...{ above: null, bound: null, gain_ns: 0 },
  };
  const roofline = { memory_gbs: null, roofs: [], dots: [dot], more_dots: 0, more_ns: 0, unknown_ns: 0 };
  const shown = { kernelNs: 1000, title: plain("How far is it?"), opened: null, open: () => {}, tab: TAB, name: "a" };
  render(<GpuRoofline roofline={roofline} {...shown} />);
  expect(screen.queryByRole("slider")).toBeNull();
  expect(screen.queryByText("not known")).toBeNull();
  expect(screen.getByRole("button", { name: /^Show as table/ })).toBeTruthy();
  cleanup();
  render(<GpuRoofline roofline={{ ...roofline, memory_gbs: 1000 }} {...shown} />);
  expect(screen.getByRole("slider")).toBeTruthy();
  cleanup();
  const peaks = [
    [19.5, 0],
    [156, 1],
    [52, 3],
  ].map(([tflops, products]) => ({ tflops: tflops!, products: products! }));
  const roofs = peaks.map((peak) => ({ dtype: "float", tensor_cores: peak.products > 0, ...peak }));
  render(<GpuRoofline roofline={{ ...roofline, memory_gbs: 1000, roofs }} {...shown} />);
  for (const type of ["FP32", "TF32", "3 × TF32"]) {
    expect(screen.getByText(new RegExp(`^${type} .*TFLOP/s$`))).toBeTruthy();
  }
});
