/** The inputs of a worker curve, where its points are, and where its labels find room next to them. */

import type { ZeroAxis } from "../../../charts/axes";
import type { Dot } from "../../../charts/lines/polyline";
import type { TipContent } from "../../../charts/pointer/tip";
import { textWidth } from "../../../dom/text_width";
import type { Scale } from "../../../format";

export interface CurveMark {
  workers: number;
  ns: number;
  text: string;
}

export interface CurveProps {
  label: string;
  points: readonly { workers: number; step_ns: number; loader_ns: number }[];
  /** This span's mean step. */
  measured: CurveMark;
  /** Other spans: hollow points, which the view names. */
  others: readonly CurveMark[];
  recommended: CurveMark;
  /** What the recommended number saves; 0 draws no bar. */
  gain: { ns: number; text: string };
  /** The label next to the dashed line. */
  loader: string;
  /** More workers than this compete for cores. */
  cores: { workers: number; text: string } | null;
  scale: Scale;
  tip(workers: number): TipContent;
}

export interface Drawn {
  frame: Box;
  stops: readonly number[];
  x(workers: number): number;
  y(ns: number): number;
  /** The axis of step time, in the scale's unit. */
  timeAxis: ZeroAxis;
}

export type PartProps = CurveProps & { width: number; drawn: Drawn };

export const dotsOf = (points: CurveProps["points"], of: "step_ns" | "loader_ns", { x, y, frame }: Drawn): Dot[] =>
  cut(
    points.map((point) => ({ x: x(point.workers), y: y(point[of]) })),
    frame.top,
  );

/** A falling line, from where it enters the picture. */
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

/** A label next to a vertical line is closer to it than one next to a mark, px. */
const BESIDE = 5;

/** The recommended number comes first: a label that finds no room is still in the tip, the table and the sentence. */
export function labelsOf(
  { points, measured, others, recommended, gain, loader, cores, drawn, width }: PartProps,
  bar: Dot | null,
): { label: Label; strong: boolean }[] {
  const { frame, x, y } = drawn;
  const dot = (mark: CurveMark): Dot => ({ x: x(mark.workers), y: y(mark.ns) });
  const lines = [dotsOf(points, "step_ns", drawn), dotsOf(points, "loader_ns", drawn)];
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
  const occupied = [
    around(dot(measured), NOW),
    around(dot(recommended), GOAL),
    ...others.map((other) => around(dot(other), NOW)),
  ];
  if (bar)
    occupied.push({ left: bar.x - 2, right: bar.x + 2, top: y(recommended.ns + gain.ns), bottom: dot(recommended).y });
  const area = { left: frame.left + 2, right: width, top: frame.top - 12, bottom: frame.bottom };
  const placed: { label: Label; strong: boolean }[] = [];
  const place = (text: string, spots: readonly Dot[], strong = false, most?: number): boolean => {
    for (const spot of spots) {
      const clear = freeLabel(text, spot, area, occupied, [...lines, ...saved, ...upright], most);
      // rather across the line that marks the cores than nowhere
      const label = clear ?? freeLabel(text, spot, area, occupied, [...lines, ...saved], most);
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
      occupied.push(box);
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

/** Where a label is placed next to its mark: the first place at which it covers no other label, mark or line. */
interface Box {
  left: number;
  right: number;
  top: number;
  bottom: number;
}

type Anchor = "start" | "mid" | "end";

/** The baseline of the text, and how the text is aligned to it. */
interface Label {
  x: number;
  y: number;
  anchor: Anchor;
  text: string;
}

/** How far a line of small type extends above and below its baseline, px. */
const RISE = 10;
const DROP = 3;

/** Offsets from the middle of the mark, px: beside it first, then above and below, nearer ones before farther ones. */
const PLACES: readonly (readonly [dx: number, dy: number, anchor: Anchor])[] = [
  [11, -7, "start"],
  [11, 16, "start"],
  [-11, -7, "end"],
  [-11, 16, "end"],
  [0, -12, "mid"],
  [0, 20, "mid"],
  [11, 30, "start"],
  [-11, 30, "end"],
  [11, -22, "start"],
  [-11, -22, "end"],
  [0, 36, "mid"],
  [0, -28, "mid"],
  [-11, -38, "end"],
  [11, -38, "start"],
  [0, -46, "mid"],
  [-11, -54, "end"],
];

/** How many of the places touch their mark. */
const NEAR = 6;

/** Null where the first `most` places are taken. The box of a placed label is added to `taken`. */
export function freeLabel(
  text: string,
  at: Dot,
  frame: Box,
  occupied: Box[],
  lines: readonly (readonly Dot[])[],
  most = PLACES.length,
): Label | null {
  for (const [dx, dy, anchor] of PLACES.slice(0, most)) {
    const label = { x: at.x + dx, y: at.y + dy, anchor, text };
    const box = boxOf(label);
    const inside =
      box.left >= frame.left && box.right <= frame.right && box.top >= frame.top && box.bottom <= frame.bottom;
    if (!inside || occupied.some((other) => touches(box, other)) || lines.some((line) => crosses(line, box))) continue;
    occupied.push(box);
    return label;
  }
  return null;
}

export function boxOf({ x, y, anchor, text }: Label): Box {
  const width = textWidth(text);
  const left = anchor === "start" ? x : anchor === "end" ? x - width : x - width / 2;
  return { left, right: left + width, top: y - RISE, bottom: y + DROP };
}

export const around = ({ x, y }: Dot, radius: number): Box => ({
  left: x - radius,
  right: x + radius,
  top: y - radius,
  bottom: y + radius,
});

const touches = (a: Box, b: Box): boolean =>
  a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;

/** Distance between the points at which a line is checked, px. */
const PACE = 4;

function crosses(line: readonly Dot[], box: Box): boolean {
  return line.some((from, at) => {
    const to = line[at + 1] ?? from;
    if (Math.max(from.x, to.x) < box.left || Math.min(from.x, to.x) > box.right) return false;
    const parts = Math.max(1, Math.ceil(Math.hypot(to.x - from.x, to.y - from.y) / PACE));
    for (let part = 0; part <= parts; part++) {
      const x = from.x + ((to.x - from.x) * part) / parts;
      const y = from.y + ((to.y - from.y) * part) / parts;
      if (x >= box.left && x <= box.right && y >= box.top && y <= box.bottom) return true;
    }
    return false;
  });
}
