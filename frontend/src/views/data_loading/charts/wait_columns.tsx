/**
 * Waits in the order of the batches, one column each; brackets above join a long wait with the next, where long waits
 * recur.
 */

import { max } from "d3-array";
import { useMemo, useState } from "preact/hooks";
import { thinned, ValueGrid, zeroAxis } from "../../../charts/axes";
import { nearest, pointerX, type StopSelection, slider, typed } from "../../../charts/pointer/pointing";
import { Tip, type TipContent } from "../../../charts/pointer/tip";
import { colourOf } from "../../../colour";
import { sized } from "../../../dom/size";
import type { Scale } from "../../../format";

interface WaitColumn {
  /** The key of the step: columns of the same step are highlighted together. */
  key: string;
  ns: number;
  long: boolean;
}

interface ColumnsProps extends StopSelection {
  label: string;
  height: number;
  columns: readonly WaitColumn[];
  /** Pairs of long columns, by index, that a bracket joins. */
  periods: readonly (readonly [from: number, to: number])[];
  /** Written below the first bracket that has room. */
  periodText: string;
  axis: string;
  colour: string;
  scale: Scale;
  tip(column: number): TipContent;
}

const LEFT = 50;
/** Height for the brackets, where there are any. */
const BRACKETS = 16;
const TOP = 10;
const BELOW = 34;

/** Wider columns would look like areas. */
const WIDEST = 28;

/** Brackets narrower than this would be a line. */
const BRACKET_PX = 9;

export const WaitColumns = sized<ColumnsProps>(ColumnsPlot, ({ height }) => height);

/** The picture at a given width; pure, so that it can be drawn without a browser. */
export function ColumnsPlot(props: ColumnsProps & { width: number }) {
  const { columns, width, height, scale, hovered, selected } = props;
  const top = TOP + (props.periods.length > 0 ? BRACKETS : 0);
  const pace = (width - LEFT) / Math.max(1, columns.length);
  const xs = useMemo(() => columns.map((_, at) => LEFT + pace * (at + 0.5)), [columns, pace]);
  const [pointed, setPointed] = useState<number | null>(null); // a step hovered elsewhere has its tip there
  const hover = (at: number | null) => {
    setPointed(at);
    props.hover(at === null ? null : columns[at]!.key);
  };
  const select = (at: number | null) => props.select(at === null ? null : columns[at]!.key);
  const under = (event: MouseEvent) => (pointerX(event) < LEFT ? null : nearest(xs, pointerX(event)));
  const { periods, periodText, axis } = props;
  const bars = useMemo(
    () => <Bars {...{ columns, periods, periodText, axis, scale, width, height, xs, pace, top }} />,
    [columns, periods, periodText, axis, scale, width, height, xs, pace, top],
  );
  const found = columns.findIndex((column) => column.key === (hovered ?? selected));
  const chosen = found < 0 ? null : found;
  const content = pointed === null || !columns[pointed] ? null : props.tip(pointed);
  return (
    <>
      <svg
        class={`chart wait-columns of-${colourOf(props.colour)}`}
        width={width}
        height={height}
        {...slider(props.label, chosen, columns.length, chosen === null ? null : props.tip(chosen))}
        onPointerMove={(event) => hover(under(event))}
        onPointerLeave={() => hover(null)}
        onBlur={() => hover(null)}
        onClick={(event) => select(under(event))}
        onKeyDown={(event) => typed(event, chosen, columns.length, { hover, select })}
      >
        <rect width={width} height={height} fill="transparent" />
        {columns.map(
          (column, at) =>
            (column.key === hovered || column.key === selected) && (
              <rect
                key={at}
                class="choice"
                x={xs[at]! - pace / 2}
                y={top - 6}
                width={pace}
                height={height - BELOW - top + 6}
              />
            ),
        )}
        {bars}
      </svg>
      <Tip content={content} x={(xs[pointed ?? 0] ?? 0) + pace / 2} y={top} width={width} />
    </>
  );
}

type BarsProps = Pick<ColumnsProps, "columns" | "periods" | "periodText" | "axis" | "scale" | "height"> & {
  width: number;
  xs: readonly number[];
  pace: number;
  top: number;
};

/** The part of the picture that the pointer does not change. */
function Bars({ columns, periods, periodText, axis, scale, width, height, xs, pace, top }: BarsProps) {
  const foot = height - BELOW;
  const { end, ticks } = zeroAxis(scale.of(max(columns, (column) => column.ns) ?? 0), 3);
  const y = (ns: number) => foot - (scale.of(ns) / end) * (foot - top);
  const wide = Math.max(1, Math.min(WIDEST, pace > 3 ? pace - 1.5 : pace));
  const bars = (long: boolean) =>
    columns
      .map((column, at) => (column.long === long ? bar(xs[at]! - wide / 2, wide, y(column.ns), foot) : ""))
      .join("");
  const drawn = periods.filter(([from, to]) => xs[to]! - xs[from]! >= BRACKET_PX);
  return (
    <g>
      <ValueGrid ticks={ticks} y={(tick) => y(tick / scale.of(1))} left={LEFT} right={width} unit={scale.unit} />
      <path class="mark" d={bars(true)} />
      <path class="mark short" d={bars(false)} />
      {drawn.map(([from, to]) => (
        <path key={from} class="tick" fill="none" d={`M${xs[from]! + 2} ${top - 4}v-4H${xs[to]! - 2}v4`} />
      ))}
      {drawn[0] && (
        <text class="second" x={xs[drawn[0][0]]!} y={top - 13}>
          {periodText}
        </text>
      )}
      {thinned(columns.map((column, at) => ({ x: xs[at]!, text: column.key }))).map((label) => (
        <text key={label.x} class="mid" x={label.x} y={foot + 14}>
          {label.text}
        </text>
      ))}
      <text class="mid" x={(LEFT + width) / 2} y={foot + 29}>
        {axis}
      </text>
    </g>
  );
}

const bar = (left: number, width: number, top: number, foot: number): string =>
  foot - top < 0.3 ? "" : `M${left.toFixed(1)} ${foot}V${top.toFixed(1)}h${width.toFixed(1)}V${foot}z`;
