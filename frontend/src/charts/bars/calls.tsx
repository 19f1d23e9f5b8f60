/** When something ran in a span: one bar per time bin, as high as its number of calls; steps are marked. */

import { max } from "d3-array";
import { useState } from "preact/hooks";
import { colourOf } from "../../colour";
import { Sized } from "../../dom/size";
import { count, percent, type Scale } from "../../format";
import { zeroAxis } from "../axes/ticks";
import { TimeAxis } from "../axes/time_axis";
import { ValueGrid } from "../axes/value_axis";
import { moved, pointerX, slider } from "../pointer/pointing";
import { Tip } from "../pointer/tip";

interface CallsProps {
  label: string;
  bin: number;
  /** The calls that start in each bin, and how much of the bin's time they take. */
  counts: readonly number[];
  busy: readonly number[];
  steps: readonly { key: string; from: number; to: number }[];
  whole: number;
  axis: string;
  colour: string;
  scale: Scale;
  height: number;
}

const LEFT = 40;
const TOP = 16;
const AXIS = 22;

/** Marks closer together than this would merge into a grey band. */
const MARK_PX = 4;
const NAME_PX = 22;

export function Calls(props: CallsProps) {
  return <Sized height={props.height}>{(width) => <Plot {...props} width={width} />}</Sized>;
}

function Plot(props: CallsProps & { width: number }) {
  const { label, bin, counts, busy, steps, whole, axis, colour, scale, height, width } = props;
  const [hovered, setHovered] = useState<number | null>(null);
  const foot = height - AXIS;
  const { end, ticks } = zeroAxis(max(counts) ?? 0, 3);
  const y = (value: number) => foot - (value / end) * (foot - TOP);
  const x = (ns: number) => LEFT + (ns / whole) * (width - LEFT);
  const point = (bar: number) => setHovered(bar >= 0 && bar < counts.length ? bar : null);
  const typed = (event: KeyboardEvent) => {
    const next = moved(event.key, hovered, counts.length);
    if (next === undefined) return;
    point(next);
    event.preventDefault();
  };
  const length = (bar: number) => Math.min(bin, whole - bar * bin);
  const content =
    hovered === null
      ? null
      : {
          title: `${scale.number(hovered * bin)} to ${scale.text(hovered * bin + length(hovered))}`,
          rows: [
            { name: axis, value: count(counts[hovered]!) },
            { name: "of the time", value: percent(busy[hovered]! / length(hovered)) },
          ],
        };
  return (
    <>
      <svg
        class={`chart of-${colourOf(colour)}`}
        width={width}
        height={foot}
        {...slider(label, hovered, counts.length, content)}
        onPointerMove={(event) =>
          point(pointerX(event) < LEFT ? -1 : Math.floor((((pointerX(event) - LEFT) / (width - LEFT)) * whole) / bin))
        }
        onPointerLeave={() => point(-1)}
        onBlur={() => point(-1)}
        onKeyDown={typed}
      >
        <rect width={width} height={foot} fill="transparent" />
        <ValueGrid ticks={ticks.filter(Number.isInteger)} y={y} left={LEFT} right={width} />
        <path
          class="mark calls"
          d={counts.map((each, bar) => column(x(bar * bin), x(bar * bin + length(bar)), y(each), foot)).join("")}
        />
        {steps.length * MARK_PX <= width &&
          steps.map((step) => (
            <g key={step.key}>
              <line class="tick" x1={x(step.from)} x2={x(step.from)} y1="2" y2={foot} />
              {x(step.to) - x(step.from) > NAME_PX && (
                <text class="second" x={x(step.from) + 4} y="11">
                  {step.key}
                </text>
              )}
            </g>
          ))}
        {hovered !== null && (
          <rect
            class="choice"
            x={x(hovered * bin)}
            y={TOP}
            width={Math.max(2, x(hovered * bin + length(hovered)) - x(hovered * bin))}
            height={foot - TOP}
          />
        )}
      </svg>
      <TimeAxis from={0} to={whole} left={LEFT} width={width} scale={scale} />
      <Tip content={content} x={hovered === null ? 0 : x(hovered * bin + length(hovered))} y={TOP} width={width} />
    </>
  );
}

/** A bar of the chart, with a pixel of background after it where there is room. */
function column(from: number, to: number, top: number, foot: number): string {
  if (foot - top < 0.3) return "";
  const right = Math.max(from + 1, to - from > 3 ? to - 1 : to);
  return `M${from.toFixed(1)} ${foot}V${top.toFixed(1)}H${right.toFixed(1)}V${foot}z`;
}
