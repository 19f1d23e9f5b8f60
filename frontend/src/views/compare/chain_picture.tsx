/** Experiments as stacked columns, in the order in which they were recorded. */

import { max, sum } from "d3-array";
import { useMemo, useRef, useState } from "preact/hooks";
import type { Parts, StepChange } from "../../api.gen";
import { ValueGrid, zeroAxis } from "../../charts/axes";
import { moved, nearest, pointerX, pointerY, slider, typed } from "../../charts/pointer/pointing";
import { partRow, Tip, type TipContent } from "../../charts/pointer/tip";
import { svgPaint } from "../../colour";
import { type TableData, tableData } from "../../components/data_table";
import { Keys, keyOfPart } from "../../components/keys";
import { Picture } from "../../components/picture";
import { type FileColumn, nsColumn } from "../../components/table";
import { sized } from "../../dom/size";
import { shortenedTo, textWidth } from "../../dom/text_width";
import { percent, type Scale, share } from "../../format";
import type { Meanings } from "../../meanings";
import { hiddenParts, keysOfHidden, readingOf } from "../choices";
import type { Tab } from "../props";
import type { Experiment } from "./chain_runs";
import { changeOf, intervalText, NOT_CLEAR, signed, stepScales } from "./difference";

interface ChainPictureProps {
  title: string;
  /** Which runs are shown, where some are left out. */
  order: string | null;
  group: readonly Experiment[];
  choose(of: Experiment): void;
  /** Moves an experiment of the group to another place; undefined: their order is fixed. */
  move: ((from: number, to: number) => void) | undefined;
  tab: Tab;
}

export function ChainPicture({ title, order, group, choose, move, tab }: ChainPictureProps) {
  const { meanings } = tab;
  const { unit } = readingOf(tab);
  const off = hiddenParts(tab.state);
  const scales = useMemo(
    () =>
      stepScales(
        group.map(({ link }) => link.step_ns),
        unit,
      ),
    [group, unit],
  );
  const scaleOf = ({ link }: Experiment) => scales.of(link.step_ns);
  const columns = useMemo(
    () => group.map((each) => shownOf(columnOf(each, meanings, scales.of(each.link.step_ns)), off)),
    [group, meanings, scales, off],
  );
  const shown = meanings.parts.filter(({ id }) => group.some(({ link }) => link.parts_ns[id as keyof Parts] > 0));
  return (
    <Picture
      title={title}
      below
      sub={order ?? undefined}
      details={
        "A bar is the mean step. The figures below it are its change from the one before and from the first." +
        (order ? " Of many runs the newest are shown, and those that are compared: choose others in Trends." : "") +
        (move ? " Drag a column to another place, or choose it and press Shift with an arrow key." : "")
      }
      name={`${title.replace("?", "")} experiments`}
      table={() => tableOf(group, meanings)}
    >
      <ChainColumns
        label={group.map((each) => `${each.name} ${scaleOf(each).text(each.link.step_ns)}`).join(", ")}
        columns={columns}
        scale={scales.all}
        choose={(column) => choose(group[column]!)}
        move={move}
        tip={(column) => tipOf(group[column]!, meanings, scaleOf(group[column]!))}
      />
      <Keys
        label="Parts of the mean step"
        keys={shown.map(keyOfPart)}
        off={off}
        choose={(next) => tab.update(keysOfHidden(next))}
      />
    </Picture>
  );
}

/** The column without hidden parts. The lines above it stay: they refer to the whole step. */
const shownOf = (column: ChainColumn, off: ReadonlySet<string>): ChainColumn => ({
  ...column,
  parts: column.parts.filter(({ id }) => !off.has(id)),
});

function columnOf({ name, role, link, of }: Experiment, meanings: Meanings, scale: Scale): ChainColumn {
  return {
    id: of.spans.join(),
    name,
    mark: role,
    parts: partsOf(link.parts_ns, meanings),
    lines: [
      [scale.text(link.step_ns), scale.number(link.step_ns)],
      ...changeLines(link.from_previous, link.from_first, scale),
    ],
  };
}

function changeLines(previous: StepChange | null, first: StepChange | null, scale: Scale): Line[] {
  if (previous === null) return [["first"]];
  const moved = signed(changeOf(previous), scale);
  return [
    [moved, moved.replace(/\s.*$/, "")],
    previous.distinguishable === false ? ["not distinguishable", "unclear"] : [intervalText(previous, scale)],
    first === null ? [] : [`${relative(first)} from first`, relative(first)],
  ];
}

/** "-31 %" */
function relative({ base_ns, candidate_ns }: StepChange): string {
  const part = base_ns ? (candidate_ns - base_ns) / base_ns : 0;
  const written = share(Math.abs(part));
  return part === 0 || written.startsWith("<") ? written : (part < 0 ? "-" : "+") + written;
}

const partsOf = (parts: Parts, meanings: Meanings) =>
  meanings.parts.map(({ id, colour, hatched }) => ({ id, colour, hatched, value: parts[id as keyof Parts] }));

function tipOf({ name, link }: Experiment, meanings: Meanings, scale: Scale): TipContent {
  const parts = meanings.parts.filter(({ id }) => link.parts_ns[id as keyof Parts] > 0);
  return {
    title: name,
    rows: [
      { name: "Mean step", value: scale.text(link.step_ns) },
      ...changeRows("Before", link.from_previous, scale),
      ...changeRows("First", link.from_first, scale),
      ...parts.map((part) => {
        const ns = link.parts_ns[part.id as keyof Parts];
        return partRow(part, `${scale.text(ns)}, ${percent(ns / link.step_ns)}`);
      }),
    ],
  };
}

function changeRows(against: "Before" | "First", change: StepChange | null, scale: Scale) {
  const name = against === "Before" ? "Against the one before" : "Against the first";
  if (change === null) return [];
  const interval = change.low === null ? "" : ` (${intervalText(change, scale)})`;
  const noise = change.distinguishable === false ? `, ${NOT_CLEAR}` : "";
  return [{ name, value: `${signed(changeOf(change), scale)}${interval}${noise}` }];
}

function tableOf(group: readonly Experiment[], meanings: Meanings): TableData {
  const changes = (id: "from_previous" | "from_first", against: string) => [
    nsColumn<Experiment>(`Change from ${against}`, ({ link }) => link[id] && changeOf(link[id])),
    nsColumn<Experiment>(`95 % from, against ${against}`, ({ link }) => link[id]?.low ?? null),
    nsColumn<Experiment>(`95 % to, against ${against}`, ({ link }) => link[id]?.high ?? null),
  ];
  const columns: FileColumn<Experiment>[] = [
    { label: "Run", of: ({ of }) => of.run },
    { label: "Steps", unit: "count", of: ({ link }) => link.steps },
    nsColumn("Mean step", ({ link }) => link.step_ns),
    ...changes("from_previous", "the one before"),
    ...changes("from_first", "the first"),
    ...meanings.parts.map(({ id, label }) =>
      nsColumn<Experiment>(label, ({ link }) => link.parts_ns[id as keyof Parts]),
    ),
  ];
  return tableData(columns, group);
}

interface ChainColumn {
  id: string;
  name: string;
  /** Ordered from the bottom. */
  parts: readonly { id: string; colour: string; hatched: boolean; value: number }[];
  /** The text above the column, from top to bottom. */
  lines: readonly Line[];
  /** A mark below its name: "base". */
  mark: string;
}

interface ChainColumnsProps {
  /** One sentence with the figures. */
  label: string;
  columns: readonly ChainColumn[];
  scale: Scale;
  choose(column: number): void;
  /** Moves a column to another place; undefined: their order is fixed. */
  move: ((from: number, to: number) => void) | undefined;
  tip(column: number): TipContent;
}

const HEIGHT = 300;
const LEFT = 46;
/** Height for names and marks. */
const BELOW = 36;
const LINE = 14;
const WIDEST = 72;

/**
 * Experiments in order, a stacked column each, with its gain above it. Each line of the text above the columns has the
 * longest form for which all columns have room.
 */
const ChainColumns = sized<ChainColumnsProps>(Drawn, HEIGHT);

function Drawn(props: ChainColumnsProps & { width: number }) {
  const { label, columns, scale, choose, move, tip, width } = props;
  const [at, setAt] = useState<number | null>(null);
  const [pointer, setPointer] = useState({ x: 0, y: 0 });
  const pitch = (width - LEFT) / Math.max(1, columns.length);
  const middles = columns.map((_, column) => LEFT + pitch * (column + 0.5));
  const picture = useMemo(() => <Columns {...{ columns, scale, width }} />, [columns, scale, width]);
  const put =
    move &&
    ((from: number, to: number) => {
      setAt(to);
      move(from, to);
    });
  const { dragged, handlers, ended } = useColumnDrag(middles, put);
  const point = (event: PointerEvent) => {
    handlers.onPointerMove(event);
    setPointer({ x: pointerX(event), y: pointerY(event) });
    setAt(nearest(middles, pointerX(event)));
  };
  const hover = (column: number | null) => {
    setAt(column);
    if (column !== null) setPointer({ x: middles[column]!, y: HEIGHT / 2 });
  };
  const select = (column: number | null) => column !== null && choose(column);
  const type = (event: KeyboardEvent) => {
    const to = at !== null && move && event.shiftKey ? moved(event.key, at, columns.length) : undefined;
    if (to === undefined) return typed(event, at, columns.length, { hover, select });
    event.preventDefault();
    hover(to);
    if (to !== at) move!(at!, to);
  };
  return (
    <>
      <svg
        class={dragged ? "chart chain dragged" : "chart chain"}
        width={width}
        height={HEIGHT}
        {...slider(label, at, columns.length, at === null ? null : tip(at))}
        {...handlers}
        onPointerMove={point}
        onPointerLeave={() => setAt(null)}
        onBlur={() => setAt(null)}
        onClick={(event) => !ended() && select(nearest(middles, pointerX(event)))}
        onKeyDown={type}
      >
        {at !== null && <rect class="under" x={middles[at]! - pitch / 2} y={0} width={pitch} height={HEIGHT} />}
        {picture}
        {dragged && <Dragged {...dragged} middles={middles} pitch={pitch} name={columns[dragged.from]!.name} />}
      </svg>
      {at !== null && !dragged && (
        <Tip content={tip(at)} {...pointer} y={Math.min(pointer.y, HEIGHT / 2)} width={width} />
      )}
    </>
  );
}

interface DraggedProps {
  from: number;
  to: number;
  by: number;
  middles: readonly number[];
  pitch: number;
  name: string;
}

/** Shows where the column would go, and its name under the pointer. */
function Dragged({ from, to, by, middles, pitch, name }: DraggedProps) {
  const edge = middles[to]! + ((to > from ? 1 : -1) * pitch) / 2;
  const wide = pitch - 6;
  const x = middles[from]! + by - wide / 2;
  return (
    <g class="drag">
      {to !== from && <line x1={edge} x2={edge} y1={0} y2={HEIGHT} />}
      <rect x={x} y={HEIGHT - BELOW} width={wide} height={20} rx={3} />
      <text class="mid firm-axis" x={x + wide / 2} y={HEIGHT - BELOW + 14}>
        {shortenedTo(name, wide - 6)}
      </text>
    </g>
  );
}

type PictureProps = Pick<ChainColumnsProps, "columns" | "scale"> & { width: number };

function Columns({ columns, scale, width }: PictureProps) {
  const pitch = (width - LEFT) / Math.max(1, columns.length);
  const lines = fittingLines(
    columns.map((column) => column.lines),
    pitch,
  );
  const top = LINE * (max(lines, (each) => each.length) ?? 0) + LINE;
  const foot = HEIGHT - BELOW;
  const totals = columns.map(({ parts }) => sum(parts, ({ value }) => scale.of(value)));
  const { end, ticks } = zeroAxis(max(totals) ?? 0);
  const y = (value: number) => foot - (value / end) * (foot - top);
  return (
    <>
      <ValueGrid ticks={ticks} y={y} left={LEFT} right={width} unit={scale.unit} />
      {columns.map((column, at) => (
        <g key={column.id} transform={`translate(${LEFT + pitch * (at + 0.5)} 0)`}>
          <Stack parts={column.parts} wide={Math.min(WIDEST, pitch * 0.6)} y={(value) => y(scale.of(value))} />
          {lines[at]!.map((line, place) => (
            <text
              key={place}
              class={place === 0 ? "mid halo firm-axis" : "mid halo second"}
              y={y(totals[at]!) - 5 - LINE * (lines[at]!.length - 1 - place)}
            >
              {line}
            </text>
          ))}
          <text class={column.mark ? "mid firm-axis" : "mid second"} y={foot + 15}>
            {shortenedTo(column.name, pitch - 6)}
          </text>
          <text class="mid firm-axis" y={foot + 29}>
            {column.mark}
          </text>
        </g>
      ))}
    </>
  );
}

function Stack({ parts, wide, y }: { parts: ChainColumn["parts"]; wide: number; y(value: number): number }) {
  let below = 0;
  return (
    <>
      {parts.map(({ id, colour, hatched, value }) => {
        const from = below;
        below += value;
        const tall = y(from) - y(below);
        return tall < LEAST_PX ? null : (
          <rect
            key={id}
            x={-wide / 2}
            y={y(below)}
            width={wide}
            height={tall > 1.5 ? tall - 1 : tall}
            style={svgPaint(colour, hatched)}
          />
        );
      })}
    </>
  );
}

/** Lower marks are not drawn: a whole pixel would exaggerate them. */
const LEAST_PX = 0.3;

/** A hand moves by less than this during a mere click, px. */
const STARTS_PX = 6;

interface ColumnDrag {
  /** The column that is being dragged, the place where it would go, and how far it was dragged, px; null: none is. */
  dragged: { from: number; to: number; by: number } | null;
  handlers: {
    onPointerDown(event: PointerEvent): void;
    onPointerMove(event: PointerEvent): void;
    onPointerUp(event: PointerEvent): void;
    onPointerCancel(): void;
  };
  /** Whether the click that just came ended a drag, and must be ignored. */
  ended(): boolean;
}

/** middles: the middles of the columns, px, ascending; without `move` nothing can be dragged. */
function useColumnDrag(middles: readonly number[], move: ((from: number, to: number) => void) | undefined): ColumnDrag {
  const pressed = useRef<{ at: number; x: number } | null>(null);
  const click = useRef(false);
  const [dragged, setDragged] = useState<ColumnDrag["dragged"]>(null);
  const stop = () => {
    pressed.current = null;
    setDragged(null);
  };
  return {
    dragged,
    handlers: {
      onPointerDown(event) {
        const at = nearest(middles, pointerX(event));
        click.current = false;
        if (move && event.button === 0 && at !== null) pressed.current = { at, x: pointerX(event) };
      },
      onPointerMove(event) {
        const from = pressed.current;
        if (from === null) return;
        const by = pointerX(event) - from.x;
        if (dragged === null && Math.abs(by) < STARTS_PX) return;
        if (dragged === null) (event.currentTarget as Element).setPointerCapture?.(event.pointerId);
        setDragged({ from: from.at, to: nearest(middles, pointerX(event))!, by });
      },
      onPointerUp() {
        click.current = dragged !== null;
        if (dragged !== null && dragged.to !== dragged.from) move?.(dragged.from, dragged.to);
        stop();
      },
      onPointerCancel: stop,
    },
    ended() {
      const was = click.current;
      click.current = false;
      return was;
    },
  };
}

/** The forms of one line, the longest first; the line is left out where there is no room for any of them. */
type Line = readonly string[];

/** Gap between neighbours, px. */
const APART = 8;

/** The lines of each column that fit; all columns use the same form of a line, so that they can be compared. */
export function fittingLines(columns: readonly (readonly Line[])[], pitch: number): readonly (readonly string[])[] {
  const count = Math.max(0, ...columns.map((lines) => lines.length));
  const forms = Array.from({ length: count }, (_, line) =>
    formOf(
      columns.map((lines) => lines[line] ?? []),
      pitch,
    ),
  );
  return columns.map((lines) =>
    forms.flatMap((form, at) => {
      const line = lines[at] ?? [];
      const shown = form === null ? undefined : line[Math.min(form, line.length - 1)];
      return shown ? [shown] : [];
    }),
  );
}

function formOf(lines: readonly Line[], pitch: number): number | null {
  const most = Math.max(0, ...lines.map((line) => line.length));
  for (let form = 0; form < most; form++) {
    const texts = lines.flatMap((line) => (line.length > 0 ? [line[Math.min(form, line.length - 1)]!] : []));
    if (texts.every((text) => textWidth(text) <= pitch - APART)) return form;
  }
  return null;
}
