/**
 * A second figure over the same axis, with its own axis on the right: dotted, so that it is not taken for a run's line.
 */

import { tick } from "../../format";
import { valueAxis } from "../axes/value_axis";
import { type Drawn, OVERLAY_PX, type Overlay } from "./line_layout";
import { pathOf } from "./polyline";

const GAPS = 4;

/** Points further apart than this have marks, px. */
const MARKED_PX = 7;

export function OverlayLine({ overlay, drawn }: { overlay: Overlay; drawn: Drawn }) {
  const { axis, frame } = drawn;
  const values = overlay.points.map(({ value }) => value);
  const { low, high, ticks } = valueAxis(values, false, GAPS);
  const y = (value: number) => frame.bottom - ((value - low) / (high - low || 1)) * (frame.bottom - frame.top);
  const dots = overlay.points.map(({ segment, at, value }) => ({ x: axis.x(segment, at), y: y(value) }));
  const marked = (frame.right - frame.left) / Math.max(1, dots.length) > MARKED_PX;
  return (
    <g class="overlay">
      {ticks.map((value) => (
        <text key={value} x={frame.right + 8} y={y(value) + 4}>
          {tick(value)}
        </text>
      ))}
      <text class="end own" x={frame.right + OVERLAY_PX} y={frame.bottom + 29}>
        {overlay.name}
      </text>
      <path class="line" d={pathOf(dots)} />
      {marked && dots.map((dot, at) => <rect key={at} x={dot.x - 2} y={dot.y - 2} width="4" height="4" />)}
    </g>
  );
}
