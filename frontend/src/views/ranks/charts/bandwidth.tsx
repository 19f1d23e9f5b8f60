/** Bandwidth over message size: whether a link misses its speed because messages are small. */

import { ValueGrid, valueAxis } from "../../../charts/axes";
import { Sized } from "../../../dom/size";
import type { Scale } from "../../../format";

export interface BandwidthPoint {
  bytes: number;
  rate: number;
  /** "25 MB" */
  name: string;
}

interface BandwidthProps {
  label: string;
  points: readonly BandwidthPoint[];
  scale: Scale;
}

const HEIGHT = 132;
const TOP = 10;
const FOOT = 22;
const LEFT = 64;
const RIGHT = 28;

export function Bandwidth(props: BandwidthProps) {
  return <Sized height={HEIGHT}>{(width) => <Plot {...props} width={width} />}</Sized>;
}

/** Sizes are placed by their logarithm to base 2: each doubling is the same distance. */
function Plot({ label, points, scale, width }: BandwidthProps & { width: number }) {
  const sorted = [...points].sort((a, b) => a.bytes - b.bytes);
  const logs = sorted.map(({ bytes }) => Math.log2(Math.max(1, bytes)));
  const [first, last] = [logs[0] ?? 0, logs.at(-1) ?? 1];
  const axis = valueAxis(
    sorted.map(({ rate }) => scale.of(rate)),
    true,
    3,
  );
  const bottom = HEIGHT - FOOT;
  const x = (log: number) =>
    last === first ? (LEFT + width) / 2 : LEFT + 12 + ((log - first) / (last - first)) * (width - LEFT - RIGHT - 12);
  const y = (value: number) => bottom - ((value - axis.low) / (axis.high - axis.low)) * (bottom - TOP);
  const dots = sorted.map((point, at) => ({ ...point, x: x(logs[at]!), y: y(scale.of(point.rate)) }));
  return (
    <svg class="chart of-comm" width={width} height={HEIGHT} role="img" aria-label={label}>
      <ValueGrid ticks={axis.ticks} y={y} left={LEFT} right={width} unit={scale.unit} />
      <path class="line" fill="none" d={dots.map((dot, at) => `${at ? "L" : "M"}${dot.x} ${dot.y}`).join("")} />
      {dots.map((dot, at) => (
        <g key={dot.bytes}>
          <circle class="mark" cx={dot.x} cy={dot.y} r="3.5" />
          {(at === 0 || dot.x - dots[at - 1]!.x > 56) && (
            <text class="mid" x={dot.x} y={HEIGHT - 6}>
              {dot.name}
            </text>
          )}
        </g>
      ))}
    </svg>
  );
}
