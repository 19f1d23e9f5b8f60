import { type Scale, tick } from "../../format";
import { thinned, ticks } from "./ticks";

interface TimeAxisProps {
  /** The time range that the picture shows, ns. */
  from: number;
  to: number;
  left: number;
  width: number;
  scale: Scale;
}

/** Least distance between ticks, px. */
const TICK_PX = 64;

/** The time axis below a picture; the unit is written at the first tick. */
export function TimeAxis({ from, to, left, width, scale }: TimeAxisProps) {
  const one = scale.of(1);
  const x = (ns: number) => left + ((ns - from) / (to - from || 1)) * (width - left);
  const all = ticks(scale.of(from), scale.of(to), Math.max(1, Math.floor((width - left) / TICK_PX)));
  const marks = all.map((value, at) => ({
    x: x(value / one),
    text: at === 0 ? `${tick(value)}\u00a0${scale.unit}` : tick(value),
  }));
  return (
    <svg class="chart" width={width} height={22} aria-hidden="true">
      <line class="tick" x1={left} x2={width} y1="1" y2="1" />
      {marks.map((mark) => (
        <line key={mark.x} class="tick" x1={mark.x} x2={mark.x} y1="1" y2="5" />
      ))}
      {thinned(marks).map((mark) => (
        <text key={mark.x} class={mark.x < left + 8 ? "" : mark.x > width - 12 ? "end" : "mid"} x={mark.x} y="17">
          {mark.text}
        </text>
      ))}
    </svg>
  );
}
