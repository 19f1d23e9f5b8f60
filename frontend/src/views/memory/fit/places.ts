/** Where settings are in the picture, and which of their names there is room for. */

import type { FitSetting } from "../../../api.gen";
import { textWidth } from "../../../dom/text_width";

export interface Placed {
  setting: FitSetting;
  x: number;
  y: number;
  /** end: the label is to the left of its point; null: there is no room for it. */
  label: { end: boolean } | null;
}

interface Frame {
  x(bytes: number): number;
  y(ns: number): number;
  /** The y position of settings whose time is not recorded. */
  untimed: number;
  right: number;
}

interface Box {
  from: number;
  to: number;
  y: number;
}

const APART = 10;
const LINE = 13;

/** The best ones are labelled first, each to the right of its point or to its left. */
export function placed(settings: readonly FitSetting[], { x, y, untimed, right }: Frame): Placed[] {
  const points = settings.map((setting) => ({
    setting,
    x: x(setting.peak_bytes ?? 0),
    y: setting.step_ns === null ? untimed : y(setting.step_ns),
  }));
  const taken: Box[] = points.map((point) => ({ from: point.x - 6, to: point.x + 6, y: point.y }));
  const labels = new Map<string, { end: boolean }>();
  for (const point of [...points].sort((a, b) => Number(b.setting.best) - Number(a.setting.best))) {
    const width = textWidth(point.setting.label, "axis");
    const sides = [
      { end: false, from: point.x + APART, to: point.x + APART + width },
      { end: true, from: point.x - APART - width, to: point.x - APART },
    ];
    const side = sides.find(
      ({ from, to }) => from >= 0 && to <= right && taken.every((box) => apart(box, from, to, point.y)),
    );
    if (!side) continue;
    taken.push({ from: side.from, to: side.to, y: point.y });
    labels.set(point.setting.label, { end: side.end });
  }
  return points.map((point) => ({ ...point, label: labels.get(point.setting.label) ?? null }));
}

const apart = (box: Box, from: number, to: number, y: number): boolean =>
  to < box.from || from > box.to || Math.abs(box.y - y) >= LINE;
