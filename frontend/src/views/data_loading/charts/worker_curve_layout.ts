/** What a worker curve is given, where its points stand, and where its words find room next to them. */

import type { ZeroAxis } from "../../../charts/axes/ticks";
import type { Dot } from "../../../charts/lines/polyline";
import type { TipContent } from "../../../charts/pointer/tip";
import type { Scale } from "../../../format";
import { around, type Box, boxOf, crosses, freeLabel, type Label, NEAR } from "./free_label";

export interface CurveMark {
  workers: number;
  ns: number;
  text: string;
}

export interface CurveProps {
  label: string;
  height: number;
  points: readonly { workers: number; step_ns: number; loader_ns: number }[];
  /** This span's mean step. */
  measured: CurveMark;
  /** Of other spans: hollow points, which the view names. */
  others: readonly CurveMark[];
  recommended: CurveMark;
  /** What the recommended number saves; 0 draws no bar. */
  gain: { ns: number; text: string };
  /** Next to the dashed line. */
  loader: string;
  /** More workers than this compete for cores. */
  cores: { workers: number; text: string } | null;
  axis: string;
  scale: Scale;
  tip(workers: number): TipContent;
}

export interface Drawn {
  frame: Box;
  /** Numbers of workers that can be chosen. */
  stops: readonly number[];
  x(workers: number): number;
  y(ns: number): number;
  /** Of step time, in the scale's unit. */
  timeAxis: ZeroAxis;
}

export type PartProps = CurveProps & { width: number; drawn: Drawn };

export const stepDots = (points: CurveProps["points"], { x, y, frame }: Drawn): Dot[] =>
  cut(
    points.map((point) => ({ x: x(point.workers), y: y(point.step_ns) })),
    frame.top,
  );
export const loaderDots = (points: CurveProps["points"], { x, y, frame }: Drawn): Dot[] =>
  cut(
    points.map((point) => ({ x: x(point.workers), y: y(point.loader_ns) })),
    frame.top,
  );

/** A line that falls, from where it enters the picture. */
export function cut(dots: readonly Dot[], top: number): Dot[] {
  const first = dots.findIndex((dot) => dot.y >= top);
  const [outside, inside] = [dots[first - 1], dots[first]];
  if (first < 0 || !outside || !inside) return dots.filter((dot) => dot.y >= top);
  const share = (top - outside.y) / (inside.y - outside.y);
  return [{ x: outside.x + share * (inside.x - outside.x), y: top }, ...dots.slice(first)];
}

/** Radii of the measured point and of the recommended one, px. */
export const NOW = 4.5;
export const GOAL = 5.5;

/** A word next to an upright line stands nearer than one next to a mark, px. */
const BESIDE = 5;

/** The recommended number first: what finds no place stands in the tip, the table and the sentence all the same. */
export function labelsOf(
  { points, measured, others, recommended, gain, loader, cores, drawn, width }: PartProps,
  bar: Dot | null,
): { label: Label; strong: boolean }[] {
  const { frame, x, y } = drawn;
  const dot = (mark: CurveMark): Dot => ({ x: x(mark.workers), y: y(mark.ns) });
  const lines = [stepDots(points, drawn), loaderDots(points, drawn)];
  const coresAt = cores && drawn.stops.includes(cores.workers) ? x(cores.workers) : null;
  const upright =
    coresAt === null
      ? []
      : [
          [
            { x: coresAt, y: frame.bottom },
            { x: coresAt, y: frame.top },
          ],
        ];
  const saved = bar ? [[dot(measured), { x: bar.x, y: dot(measured).y }]] : [];
  const taken = [
    around(dot(measured), NOW),
    around(dot(recommended), GOAL),
    ...others.map((other) => around(dot(other), NOW)),
  ];
  if (bar)
    taken.push({ left: bar.x - 2, right: bar.x + 2, top: y(recommended.ns + gain.ns), bottom: dot(recommended).y });
  const area = { left: frame.left + 2, right: width, top: frame.top - 12, bottom: frame.bottom };
  const placed: { label: Label; strong: boolean }[] = [];
  const place = (text: string, spots: readonly Dot[], strong = false, most?: number): boolean => {
    for (const spot of spots) {
      const clear = freeLabel(text, spot, area, taken, [...lines, ...saved, ...upright], most);
      // across the line of cores rather than nowhere
      const label = clear ?? freeLabel(text, spot, area, taken, [...lines, ...saved], most);
      if (label) return placed.push({ label, strong }) > 0;
    }
    return false;
  };
  if (bar) {
    const label = { x: bar.x + 9, y: bar.y + 4, anchor: "start" as const, text: gain.text };
    const box = boxOf(label);
    if (box.right > width || lines.some((line) => crosses(line, box)))
      place(gain.text, [{ x: bar.x, y: y(recommended.ns + gain.ns) }], true);
    else {
      taken.push(box);
      placed.push({ label, strong: true });
    }
  }
  place(recommended.text, [dot(recommended)]);
  place(measured.text, [dot(measured)]);
  if (cores && coresAt !== null)
    place(
      cores.text,
      [frame.bottom + 2, frame.top + 14].map((at) => ({ x: coresAt - BESIDE, y: at })),
      false,
      NEAR,
    );
  const half = Math.floor(lines[1]!.length / 2);
  const along = [...lines[1]!.slice(half), ...lines[1]!.slice(0, half).reverse()];
  if (!place(loader, along, false, NEAR)) place(loader, along);
  return placed;
}
