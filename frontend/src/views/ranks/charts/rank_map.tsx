/**
 * A figure by rank and step: a row for each rank, or for several where there is no room, a column for each step.
 *
 *     rank 0   200 ms  ▒▒▒▒▓▒▒▒
 *     rank 1   204 ms  ▒▒▒▒▓▒▒▒
 *     rank 2   241 ms  ▓▓██▓▓▓█
 *                      1   3   5   step
 */

import { useMemo, useState } from "preact/hooks";
import { AxisLabels, thinned } from "../../../charts/axes";
import { type Pen, Sheet, stripes } from "../../../charts/canvas/canvas";
import { type Palette, usePalette } from "../../../charts/canvas/palette";
import { moved, pointerX, pointerY, slider } from "../../../charts/pointer/pointing";
import { Tip, type TipContent } from "../../../charts/pointer/tip";
import type { Colour } from "../../../colour";
import { sized } from "../../../dom/size";
import { shortenedTo, widestOf } from "../../../dom/text_width";
import {
  bandAt,
  type Cell,
  cellOf,
  type GridLayout,
  gridLayout,
  itemsOf,
  type Levels,
  levelOf,
  type Matrix,
  rampOf,
  runsOf,
  shownValues,
  type Worst,
} from "./cells";

interface RankMapProps {
  label: string;
  matrix: Matrix;
  /** Rows of the matrix from top to bottom. */
  order: readonly number[];
  steps: readonly string[];
  colour: Colour;
  worst: Worst;
  levels: Levels;
  /** Written to the left of the rows: their name, and a figure. */
  nameOf(rows: readonly number[]): string;
  figureOf(rows: readonly number[]): string;
  tip(cell: Cell): TipContent;
  selected: { row: number; column: number } | null;
  select(cell: Cell): void;
  /** On a double click or Enter: opens what the cell stands for. */
  open(cell: Cell): void;
}

const AXIS_PX = 22;
const GAP_PX = 12;

/** Names take at most this share of the width. */
const GUTTER_FRACTION = 0.4;

/** Rows lower than this do not all have a name: every n-th does. */
const NAME_PX = 14;

/** The height of a map with this many rows, whatever its number of columns, px. */
export const mapHeight = (rows: number): number => gridLayout(rows, 1, 0, 1000).height + AXIS_PX;

export const RankMap = sized<RankMapProps>(Plot, ({ order }) => mapHeight(order.length));

interface Place {
  band: number;
  column: number;
}

function Plot(props: RankMapProps & { width: number }) {
  const { matrix, order, worst, levels, width, colour, steps } = props;
  const palette = usePalette();
  const heads = useHeads(props);
  const layout = useMemo(
    () => gridLayout(order.length, matrix.columns, heads.width, width),
    [order, matrix, heads, width],
  );
  const shown = useMemo(() => shownValues(matrix, order, layout, worst), [matrix, order, layout, worst]);
  const ramp = useMemo(() => rampOf(palette, colour), [palette, colour]);
  const [place, point] = useState<Place | null>(null);
  const here = place && inside(place, layout) ? place : null;
  const cell = here && cellOf(matrix, order, layout, here.band, here.column);
  const content = cell && props.tip(cell);
  const axis = useMemo(() => <StepAxis layout={layout} steps={steps} />, [layout, steps]);
  const names = useMemo(
    () => heads.rows.map((head, at) => <RowHead key={at} {...head} layout={layout} />),
    [heads, layout],
  );
  const at = (event: MouseEvent): Place | null => {
    const band = bandAt(layout.rows, pointerY(event));
    const column = bandAt(layout.columns, pointerX(event) - layout.left);
    return band === null || column === null ? null : { band, column };
  };
  const cellAt = (event: MouseEvent) => {
    const pressed = at(event);
    return pressed && cellOf(matrix, order, layout, pressed.band, pressed.column);
  };
  const hover = (next: Place | null) => {
    if (next?.band !== here?.band || next?.column !== here?.column) point(next);
  };
  return (
    <>
      <div
        class="rank-map"
        {...slider(
          props.label,
          here && here.band * layout.columns.count + here.column,
          layout.rows.count * layout.columns.count - 1,
          content,
        )}
        style={{ height: `${layout.height + AXIS_PX}px` }}
        onPointerMove={(event) => hover(at(event))}
        onPointerLeave={() => hover(null)}
        onBlur={() => hover(null)}
        onClick={(event) => {
          const pressed = cellAt(event);
          if (pressed) props.select(pressed);
        }}
        onDblClick={(event) => {
          const pressed = cellAt(event);
          if (pressed) props.open(pressed);
        }}
        onKeyDown={(event) => {
          const next = typed(event.key, here, layout);
          if (next !== undefined) hover(next);
          else if (event.key === " " && cell) props.select(cell);
          else if (event.key === "Enter" && cell) props.open(cell);
          else return;
          event.preventDefault();
        }}
      >
        <div style={{ position: "absolute", left: `${layout.left}px`, top: 0 }}>
          <Sheet
            width={Math.round(layout.width)}
            height={layout.height}
            paint={(pen) => paintGrid(pen, layout, shown, levels, ramp, palette)}
            of={[layout, shown, levels, ramp]}
          />
        </div>
        <svg class="chart" width={width} height={layout.height + AXIS_PX} aria-hidden="true">
          {names}
          {axis}
          <Marked place={placeOf(props, layout)} layout={layout} class="choice" />
          <Marked place={here} layout={layout} class="ring" />
        </svg>
      </div>
      <Tip
        content={content}
        x={layout.left + ((here?.column ?? 0) + 1) * layout.columns.px}
        y={((here?.band ?? 0) + 1) * layout.rows.px + 2}
        above={(here?.band ?? 0) * layout.rows.px}
        width={width}
      />
    </>
  );
}

const inside = ({ band, column }: Place, { rows, columns }: GridLayout) => band < rows.count && column < columns.count;

/** The place after a key that moves; null: the selection is cleared. */
function typed(key: string, place: Place | null, { rows, columns }: GridLayout): Place | null | undefined {
  if (key === "Escape") return null;
  const now = place ?? { band: 0, column: -1 };
  const turn = { ArrowDown: 1, ArrowUp: -1 }[key];
  if (turn !== undefined)
    return {
      band: place === null ? 0 : Math.max(0, Math.min(rows.count - 1, now.band + turn)),
      column: Math.max(0, now.column),
    };
  const column = moved(key, place?.column ?? null, columns.count);
  return column === undefined || key === "ArrowUp" ? undefined : { band: now.band, column };
}

/** The place of the selected row and column; null where they are not shown. */
function placeOf({ selected, order }: RankMapProps, { rows, columns }: GridLayout): Place | null {
  const row = selected === null ? -1 : order.indexOf(selected.row);
  if (selected === null || row < 0) return null;
  return {
    band: Math.floor(row / rows.size),
    column: selected.column < 0 ? -1 : Math.floor(selected.column / columns.size),
  };
}

/** A frame around a cell, or around a whole row where no step is selected. */
function Marked({ place, layout, class: name }: { place: Place | null; layout: GridLayout; class: string }) {
  if (place === null) return null;
  const { rows, columns, left, width } = layout;
  const [from, to] = place.column < 0 ? [0, width] : [place.column * columns.px, (place.column + 1) * columns.px];
  return (
    <rect
      class={name}
      x={left + Math.round(from) - 0.5}
      y={place.band * rows.px - 0.5}
      width={Math.max(3, Math.round(to) - Math.round(from))}
      height={Math.max(3, rows.px)}
    />
  );
}

interface Head {
  band: number;
  name: string;
  value: string;
}

/** The names and figures of the rows, as many as there is room for, and the width that they take. */
function useHeads({ order, matrix, width, nameOf, figureOf }: RankMapProps & { width: number }) {
  return useMemo(() => {
    const { rows } = gridLayout(order.length, matrix.columns, 0, width);
    const pace = rows.px >= NAME_PX ? 1 : Math.ceil((NAME_PX + 2) / rows.px);
    const found: Head[] = [];
    for (let band = 0; band < rows.count; band += pace) {
      const inIt = order.slice(...itemsOf(rows, band, order.length));
      found.push({ band, name: nameOf(inIt), value: pace === 1 ? figureOf(inIt) : "" });
    }
    const value = widestOf(found.map((head) => head.value));
    const most = GUTTER_FRACTION * width - value - 2 * GAP_PX;
    const name = Math.min(most, widestOf(found.map((head) => head.name)));
    const room = Math.ceil(name + value + (value > 0 ? 2 : 1) * GAP_PX);
    return { width: room, rows: found.map((head) => ({ ...head, name: shortenedTo(head.name, name) })) };
  }, [order, matrix, width, nameOf, figureOf]);
}

function RowHead({ band, name, value, layout: { rows, left } }: Head & { layout: GridLayout }) {
  const y = band * rows.px + Math.max(rows.px, 8) / 2 + 4;
  return (
    <>
      <text class="small own" x="0" y={y}>
        {name}
      </text>
      {value && (
        <text class="firm end" x={left - GAP_PX} y={y}>
          {value}
        </text>
      )}
    </>
  );
}

function StepAxis({ layout, steps }: { layout: GridLayout; steps: readonly string[] }) {
  const { columns, left, height } = layout;
  const labels = Array.from({ length: columns.count }, (_, at) => ({
    x: left + (at + 0.5) * columns.px,
    text: steps[itemsOf(columns, at, steps.length)[0]] ?? "",
  }));
  return (
    <g>
      <text class="end" x={left - GAP_PX} y={height + 16}>
        step
      </text>
      <AxisLabels labels={thinned(labels)} y={height + 16} />
    </g>
  );
}

/** Rows at least this high have a line of background between them. */
const PARTED_PX = 8;

function paintGrid(
  pen: Pen,
  { rows, columns, width, height }: GridLayout,
  shown: Float64Array,
  levels: Levels,
  ramp: readonly string[],
  palette: Palette,
): void {
  pen.clearRect(0, 0, width, height);
  const lacking = stripes(pen, palette.firm);
  const tall = rows.px >= PARTED_PX ? rows.px - 1 : rows.px;
  for (let band = 0; band < rows.count; band++) {
    const top = band * rows.px;
    const fill = (column: number) => fillOf(shown[band * columns.count + column]!, levels, ramp);
    for (const [from, to] of runsOf(columns.count, (column) => fill(column) === fill(column - 1))) {
      const [left, right] = [Math.round(from * columns.px), Math.round(to * columns.px)];
      pen.fillStyle = fill(from) ?? lacking;
      pen.fillRect(left, top, right - left, tall);
    }
  }
}

const fillOf = (value: number, levels: Levels, ramp: readonly string[]): string | undefined =>
  Number.isNaN(value) ? undefined : ramp[levelOf(value, levels)];
