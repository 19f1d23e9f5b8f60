/** The distribution of lengths: one bar per bin, on a logarithmic axis. */

import { max } from "d3-array";
import { useState } from "preact/hooks";
import { colourOf } from "../../colour";
import { Sized } from "../../dom/size";
import { count, percent, type Scale, tick } from "../../format";
import { logTicks, logX, thinned, zeroAxis } from "../axes/ticks";
import { ValueGrid } from "../axes/value_axis";
import { moved, pointerX, slider } from "../pointer/pointing";
import { Tip } from "../pointer/tip";

interface HistogramProps {
  label: string;
  /** Ascending; there is one more edge than counts. */
  edges: readonly number[];
  counts: readonly number[];
  /** What is counted: "launches". */
  axis: string;
  colour: string;
  scale: Scale;
  height: number;
}

const LEFT = 40;
const TOP = 10;
const BELOW = 32;

/** The width of the only bar where all lengths are equal, px. */
const LONE_PX = 24;

/** The gap between bars, px. */
const APART = 1;

export function Histogram(props: HistogramProps) {
  return <Sized height={props.height}>{(width) => <Bars {...props} width={width} />}</Sized>;
}

function Bars({ label, edges, counts, axis, colour, scale, height, width }: HistogramProps & { width: number }) {
  const [hovered, setHovered] = useState<number | null>(null);
  const foot = height - BELOW;
  const { end, ticks } = zeroAxis(max(counts) ?? 0, 3);
  const y = (value: number) => foot - (value / end) * (foot - TOP);
  const bars = placed(edges, LEFT, width - 8);
  const all = counts.reduce((sum, each) => sum + each, 0);
  const at = (px: number) => bars.findIndex(([from, to]) => px >= from && px < to);
  const content =
    hovered === null
      ? null
      : {
          title:
            edges[hovered] === edges[hovered + 1]
              ? scale.text(edges[hovered]!)
              : `${scale.number(edges[hovered]!)} to ${scale.text(edges[hovered + 1]!)}`,
          rows: [{ name: axis, value: `${count(counts[hovered]!)}, ${percent(counts[hovered]! / all)}` }],
        };
  const point = (bar: number) => setHovered(bar < 0 ? null : bar);
  const typed = (event: KeyboardEvent) => {
    const next = moved(event.key, hovered, counts.length);
    if (next === undefined) return;
    point(next);
    event.preventDefault();
  };
  return (
    <>
      <svg
        class={`chart of-${colourOf(colour)}`}
        width={width}
        height={height}
        {...slider(label, hovered, counts.length, content)}
        onPointerMove={(event) => point(at(pointerX(event)))}
        onPointerLeave={() => point(-1)}
        onBlur={() => point(-1)}
        onKeyDown={typed}
      >
        <rect width={width} height={height} fill="transparent" />
        <ValueGrid ticks={ticks.filter(Number.isInteger)} y={y} left={LEFT} right={width} />
        <path
          class="mark"
          d={bars.map(([from, to], bar) => rect(from, Math.max(from + 1, to - APART), y(counts[bar]!), foot)).join("")}
        />
        {hovered !== null && (
          <rect
            class="choice"
            x={bars[hovered]![0] - 1}
            y={TOP}
            width={bars[hovered]![1] - bars[hovered]![0] + 1}
            height={foot - TOP}
          />
        )}
        {lengthTicks(edges, scale, width).map((each) => (
          <g key={each.x}>
            <line class="tick" x1={each.x} x2={each.x} y1={foot} y2={foot + 4} />
            <text class="mid" x={each.x} y={foot + 16}>
              {each.text}
            </text>
          </g>
        ))}
        <text class="mid" x={(LEFT + width) / 2} y={foot + 30}>{`${scale.unit}, equal factors equally wide`}</text>
      </svg>
      <Tip content={content} x={bars[hovered ?? 0]?.[1] ?? 0} y={TOP} width={width} />
    </>
  );
}

/** Left and right edge of each bar. */
function placed(edges: readonly number[], left: number, right: number): [number, number][] {
  const [low, high] = [edges[0]!, edges[edges.length - 1]!];
  if (!(high > low)) return [[(left + right - LONE_PX) / 2, (left + right + LONE_PX) / 2]];
  return edges
    .slice(1)
    .map((edge, bar) => [logX(edges[bar]!, low, high, left, right), logX(edge, low, high, left, right)]);
}

const rect = (from: number, to: number, top: number, foot: number): string =>
  foot - top < 0.3 ? "" : `M${from.toFixed(1)} ${foot}V${top.toFixed(1)}H${to.toFixed(1)}V${foot}z`;

/** Round lengths as ticks under the bars, in the unit of the axis. */
function lengthTicks(edges: readonly number[], scale: Scale, width: number) {
  const [low, high] = [edges[0]!, edges[edges.length - 1]!];
  const one = scale.of(1);
  const marks = logTicks(scale.of(low), scale.of(high)).map((value) => ({
    x: logX(value / one, low, high, LEFT, width - 8),
    text: tick(Number(value.toPrecision(3))),
  }));
  return thinned(marks);
}
