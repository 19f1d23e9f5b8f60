/** A stacked bar per step. Each part is one path, so that thousands of steps cost as little as six. */

import { max, sum } from "d3-array";
import { useMemo, useState } from "preact/hooks";
import { type Filled, svgFill, svgPaint } from "../../colour";
import { sized } from "../../dom/size";
import { shortenedTo } from "../../dom/text_width";
import { AxisLabels, GAP_PX, thinned, ValueGrid, zeroAxis } from "../axes";
import { nearest, type Pointing, slider, typed } from "../pointer/pointing";
import { Tip, type TipContent } from "../pointer/tip";

interface StackedPart extends Filled {
  id: string;
  /** One per bar, in the unit of the axis. */
  values: readonly number[];
}

interface StackedBarsProps extends Pointing {
  select(bar: number | null): void;
  /** One sentence with the figures. */
  label: string;
  names: readonly string[];
  /** In the order of the stack, from the bottom. */
  parts: readonly StackedPart[];
  /** How much of each bar, from its top, is hatched because verdicts exclude it. */
  leftOut?: readonly number[] | undefined;
  unit: string;
  heads: readonly string[];
  /** Bars whose text is always written, even where there is no room for all. */
  firm: readonly boolean[];
  /** What one bar stands for: "step". */
  axis: string;
  hovered: number | null;
  selected: number | null;
  tip(bar: number): TipContent;
  height?: number;
}

const HEIGHT = 292;
const LEFT = 54;
const TOP = 22;
/** Room below the bars for their names and the title of the axis. */
const BELOW = 32;

export const StackedBars = sized<StackedBarsProps>(Drawn, ({ height }) => height ?? HEIGHT);

function Drawn(props: StackedBarsProps & { width: number }) {
  const { label, names, parts, leftOut, heads, firm, unit, axis, width, height = HEIGHT } = props;
  const { hovered, selected, hover, select, open, tip } = props;
  const [here, setHere] = useState(false); // a bar may be hovered in another picture, but the tip is at the pointer
  const [pointer, setPointer] = useState<{ x: number; y: number } | null>(null);
  const { foot, middles, outlineOf, picture } = useMemo(
    () => layout({ names, parts, leftOut, heads, firm, unit }, width, height),
    [names, parts, leftOut, heads, firm, unit, width, height],
  );
  const point = (event: PointerEvent) => {
    const box = (event.currentTarget as Element).getBoundingClientRect();
    setPointer({ x: event.clientX - box.left, y: event.clientY - box.top });
    setHere(true);
    hover(nearest(middles, event.clientX - box.left));
  };
  const leave = () => {
    setPointer(null);
    setHere(false);
    hover(null);
  };
  const shown = hovered ?? selected;
  return (
    <>
      <svg
        class="chart"
        width={width}
        height={height}
        {...slider(label, shown, names.length, shown === null || names[shown] === undefined ? null : tip(shown))}
        onPointerMove={point}
        onPointerLeave={leave}
        onBlur={leave}
        onClick={() => select(hovered === selected ? null : hovered)}
        onDblClick={open && (() => hovered !== null && open(hovered))}
        onKeyDown={(event) => {
          setHere(true);
          typed(event, shown, names.length, { hover, select, open });
        }}
      >
        {picture}
        <text class="mid" x={(LEFT + width) / 2} y={foot + 28}>
          {axis}
        </text>
        {[selected, hovered].map(
          (bar, at) => bar !== null && names[bar] !== undefined && <rect key={at} class="choice" {...outlineOf(bar)} />,
        )}
      </svg>
      {here && hovered !== null && names[hovered] !== undefined && (
        <Tip
          content={open ? { ...tip(hovered), act: "A double click opens it in the Timeline." } : tip(hovered)}
          x={pointer?.x ?? middles[hovered]!}
          y={Math.min(pointer?.y ?? TOP, height / 2 - 16)}
          width={width}
        />
      )}
    </>
  );
}

type BarsProps = Pick<StackedBarsProps, "names" | "parts" | "leftOut" | "heads" | "firm" | "unit">;

/** Everything that stays the same while the pointer moves, and where the bars are. */
function layout(props: BarsProps, width: number, height: number) {
  const { names, parts, leftOut, unit } = props;
  const foot = height - BELOW;
  const totals = names.map((_, bar) => sum(parts, (part) => part.values[bar]!));
  const hatched = totals.map((total, bar) => Math.min(leftOut?.[bar] ?? 0, total));
  const judged = totals.map((total, bar) => total - hatched[bar]!);
  const { end, ticks } = zeroAxis(max(totals) ?? 0);
  const y = (value: number) => foot - (value / end) * (foot - TOP);
  const bars = placed(names.length, width);
  const middles = names.map((_, bar) => bars.x(bar) + bars.width / 2);
  const room = Math.max(LEAST_NAME, bars.pitch - GAP_PX);
  const labels = thinned(names.map((text, bar) => ({ x: middles[bar]!, text: shortenedTo(text, room) })));
  const picture = (
    <>
      <ValueGrid ticks={ticks} y={y} left={LEFT} right={width} unit={unit} />
      {parts.map((part, at) => (
        <path
          key={part.id}
          d={outline(bars, part.values, parts.slice(0, at), y)}
          style={svgPaint(part.colour, part.hatched)}
        />
      ))}
      <path d={outline(bars, hatched, [{ values: judged }], y)} style={{ fill: svgFill("ink", true) }} />
      <Heads {...props} middles={middles} pitch={bars.pitch} totals={totals} y={y} />
      <AxisLabels labels={labels} y={foot + 14} />
    </>
  );
  const outlineOf = (bar: number) => ({
    x: bars.x(bar) - 4,
    y: y(totals[bar]!) - 1,
    width: bars.width + 8,
    height: foot - y(totals[bar]!) + 2,
  });
  return { foot, middles, picture, outlineOf };
}

/** Names are shortened to the room of their bar, but not below this width: of numbers, some are left out instead. */
const LEAST_NAME = 40;

/** The width of a text such as "187.9" above a bar. */
const HEAD_WIDTH = 38;

function Heads(props: BarsProps & { middles: number[]; pitch: number; totals: number[]; y(value: number): number }) {
  const { heads, firm, middles, pitch, totals, y } = props;
  const all = pitch >= HEAD_WIDTH;
  return (
    <>
      {heads.map(
        (head, bar) =>
          (all || firm[bar]) && (
            <text
              key={bar}
              class={firm[bar] ? "mid halo firm-axis" : "mid halo second"}
              x={middles[bar]}
              y={y(totals[bar]!) - 5}
            >
              {head}
            </text>
          ),
      )}
    </>
  );
}

interface BarPlaces {
  pitch: number;
  width: number;
  x(bar: number): number;
}

/** A bar takes two thirds of its room, a gap the rest, and at most 40 px; bars a few pixels wide have no gap. */
function placed(count: number, width: number): BarPlaces {
  const pitch = (width - LEFT) / Math.max(1, count);
  const bar = pitch < 4 ? pitch : Math.min(40, (pitch * 2) / 3);
  return { pitch, width: bar, x: (at) => LEFT + pitch * (at + 0.5) - bar / 2 };
}

/** Marks lower than this are not drawn: a whole pixel would exaggerate them. */
const LEAST_PX = 0.3;

/** The outline of one part over all bars, with a pixel of background above it where there is room. */
function outline(
  bars: BarPlaces,
  values: readonly number[],
  below: readonly Pick<StackedPart, "values">[],
  y: (value: number) => number,
): string {
  return values
    .map((value, bar) => {
      const from = sum(below, (part) => part.values[bar]!);
      const tall = y(from) - y(from + value);
      if (tall < LEAST_PX) return "";
      const drawn = tall > 1.5 ? tall - 1 : tall;
      return (
        `M${bars.x(bar).toFixed(1)} ` +
        `${y(from).toFixed(1)}h${bars.width.toFixed(1)}v${(-drawn).toFixed(1)}h${(-bars.width).toFixed(1)}z`
      );
    })
    .join("");
}
