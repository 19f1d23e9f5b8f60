/** From the mean step of the base to that of the candidate: what made it shorter, and what made it longer. */

import { useMemo, useState } from "preact/hooks";
import type { Waterfall as Found, PartMeaning } from "../../api.gen";
import { ticks, zeroAxis } from "../../charts/axes";
import { moved, pointerX, pointerY, slider } from "../../charts/pointer/pointing";
import { Tip, type TipContent } from "../../charts/pointer/tip";
import { type Filled, svgPaint } from "../../colour";
import { Chips } from "../../components/chips";
import type { TableData } from "../../components/data_table";
import { Picture } from "../../components/picture";
import { sized } from "../../dom/size";
import { shortenedTo, textWidth, widestOf } from "../../dom/text_width";
import { counted, type Scale, shortened, tick } from "../../format";
import type { Meanings } from "../../meanings";
import { readingOf } from "../choices";
import type { Pair, Tab } from "../props";
import { changeOf, type Interval, intervalText, isClear, NOT_CLEAR, signed, stepScales } from "./difference";

export function StepWaterfall({ pair, tab }: { pair: Pair; tab: Tab }) {
  const { found, name, own } = pair;
  const { step, waterfalls } = found.comparison;
  const shown = waterfalls.find(({ by }) => by === tab.state.way) ?? waterfalls[0]!;
  const { unit } = readingOf(tab);
  const scales = useMemo(() => stepScales([step.base_ns, step.candidate_ns], unit), [step, unit]);
  const scale = scales.all;
  const rows = useMemo(() => fallRows(shown, found.labels, tab.meanings, scale), [shown, found, tab.meanings, scale]);
  const steps = `${counted(step.base_steps, "step")} and ${counted(step.candidate_steps, "step")}`;
  return (
    <Picture
      title={titleOf(pair, scale)}
      below
      sub={`means of ${steps}${step.low === null ? "" : ", with 95 % intervals"}`}
      name={`change by ${shown.by} ${own} ${name}`}
      table={() => waterfallTable(shown, found.labels, pair)}
    >
      <Chips
        label="Split the change by"
        name="Split by"
        chosen={shown.by}
        options={waterfalls.map(({ by }) => ({ id: by, ...WAYS[by] }))}
        choose={(way) => tab.update({ way: way === "part" ? null : way })}
      />
      <Waterfall
        label={spokenOf(pair, rows, scale)}
        base={{ label: name, value: step.base_ns, figure: scales.of(step.base_ns).text(step.base_ns), aside: "" }}
        rows={rows}
        candidate={{
          label: own,
          value: step.candidate_ns,
          figure: scales.of(step.candidate_ns).text(step.candidate_ns),
          aside: intervalText(step, scale),
        }}
        scale={scale}
        tip={waterfallTip(pair, shown, rows, scale)}
      />
      <LeftOut shown={shown} rows={rows} split={waterfalls.some(({ by }) => by === "kernel")} />
    </Picture>
  );
}

/** A title has room for this much of the name of a run. */
export const NAME_LETTERS = 36;

function titleOf({ found, own }: Pair, scale: Scale): string {
  const { base_ns, candidate_ns, distinguishable } = found.comparison.step;
  const moved = scale.text(Math.abs(candidate_ns - base_ns));
  if (candidate_ns === base_ns || distinguishable === false) return "What is a step made of in both?";
  const name = shortened(own, NAME_LETTERS);
  return `What makes a step of ${name} ${moved} ${candidate_ns < base_ns ? "shorter" : "longer"}?`;
}

/** What the picture does not show. split: whether kernels are known on both sides. */
function LeftOut({ shown, rows, split }: { shown: Found; rows: readonly FallRow[]; split: boolean }) {
  const same = shown.rows.length - rows.length;
  const more = shown.more > 0 ? `${counted(shown.more, shown.by)} that changed less, ` : "";
  const lines = [
    same > 0 && `${counted(same, "row")} did not change and ${same === 1 ? "is" : "are"} not drawn.`,
    OF_KERNELS.includes(shown.by) &&
      `The rest of the step: ${more}idle time and copies, less what kernels run at the same time.`,
    !split && "Kernels are not recorded on both sides, so that nothing is split by module, op or kernel.",
  ].filter((each) => each !== false);
  return lines.length === 0 ? null : <p class="quiet small aside">{lines.join(" ")}</p>;
}

/** The rows of a waterfall: their names, their colours, and the text about each. */
type Way = Found["by"];

const WAYS: Readonly<Record<Way, { label: string; meaning: string }>> = {
  part: { label: "Part", meaning: "What the step is made of: each instant has one part." },
  reason: { label: "Idle reason", meaning: "When the GPU is busy, and why it is idle otherwise." },
  phase: { label: "Phase", meaning: "What the main thread of the host does." },
  module: { label: "Module", meaning: "Kernel time by the module that launched it." },
  op: { label: "Op", meaning: "Kernel time by the op that launched it." },
  kernel: { label: "Kernel", meaning: "Kernel time by kernel." },
};

/** Groupings of kernels have names of their own, and a rest that is not a kernel. */
const OF_KERNELS: readonly Way[] = ["module", "op", "kernel"];

const UNNAMED: Readonly<Partial<Record<Way, string>>> = { module: "In no module", op: "In no op" };

/** The id of rows that have no meaning of their own. */
const REST = "rest";

/** The rows that changed, in their order; the rest comes last. */
function fallRows(
  { by, rows }: Found,
  labels: Readonly<Record<string, string>>,
  meanings: Meanings,
  scale: Scale,
): FallRow[] {
  return rows
    .filter((row) => changeOf(row) !== 0)
    .map((row) => ({
      id: row.id,
      label: shortened(labelOfRow(by, row.id, labels), 60),
      ...paintOf(by, row.id, meanings),
      change: changeOf(row),
      low: row.low,
      high: row.high,
      figure: signed(changeOf(row), scale),
      aside: intervalText(row, scale),
    }));
}

function labelOfRow(by: Way, id: string, labels: Readonly<Record<string, string>>): string {
  if (id === "") return UNNAMED[by] ?? "Other";
  return OF_KERNELS.includes(by) && id !== REST ? id : (labels[id] ?? id);
}

/** The colour of a row's meaning: kernels have the colour of kernels, whatever they are grouped by. */
function paintOf(by: Way, id: string, { parts, idle_reasons }: Meanings): Pick<PartMeaning, "colour" | "hatched"> {
  const plain = (colour: string) => ({ colour, hatched: false });
  if (id === REST) return plain("other");
  if (by === "phase")
    return plain(id === "data_loading" ? "data" : id === "unknown" || id === "other" ? "other" : "cpu");
  if (OF_KERNELS.includes(by)) return plain("kernel");
  const { colour, hatched } = (by === "part" ? parts : idle_reasons).find((each) => each.id === id) ?? plain("kernel");
  return { colour, hatched };
}

function spokenOf({ name, own, found }: Pair, rows: readonly FallRow[], scale: Scale): string {
  const { base_ns, candidate_ns } = found.comparison.step;
  const falls = rows.map(({ label, figure }) => `${label} ${figure}`).join(", ");
  return `Mean step: ${name} ${scale.text(base_ns)}, ${own} ${scale.text(candidate_ns)}. ${falls}.`;
}

function waterfallTable(
  { by, rows }: Found,
  labels: Readonly<Record<string, string>>,
  { name, own, found }: Pair,
): TableData {
  const { step } = found.comparison;
  return {
    columns: [
      { label: WAYS[by].label },
      { label: name, unit: "ns" },
      { label: own, unit: "ns" },
      { label: "Change", unit: "ns" },
      { label: "95 % from", unit: "ns" },
      { label: "95 % to", unit: "ns" },
    ],
    rows: [
      ...rows.map((row) => [
        labelOfRow(by, row.id, labels),
        row.base_ns,
        row.candidate_ns,
        changeOf(row),
        row.low,
        row.high,
      ]),
      ["Step", step.base_ns, step.candidate_ns, changeOf(step), step.low, step.high],
    ],
  };
}

/** The tip of a row, where row 0 is the base; the candidate is the last row. */
function waterfallTip({ found, name, own }: Pair, shown: Found, rows: readonly FallRow[], scale: Scale) {
  const { step } = found.comparison;
  const total = { name: "Mean step", value: scale.text(step.candidate_ns) };
  const change = { name: "Change", value: signed(changeOf(step), scale) };
  return (row: number): TipContent => {
    if (row === 0) return { title: name, rows: [{ name: "Mean step", value: scale.text(step.base_ns) }] };
    const fall = rows[row - 1];
    if (fall === undefined) return { title: own, rows: [total, change, ...intervalRows(step, scale)] };
    const { base_ns, candidate_ns } = shown.rows.find(({ id }) => id === fall.id)!;
    const sides = [
      { name, value: scale.text(base_ns) },
      { name: own, value: scale.text(candidate_ns) },
    ];
    return {
      title: fall.label,
      rows: [...sides, { name: "Change", value: fall.figure }, ...intervalRows(fall, scale)],
    };
  };
}

const intervalRows = (of: Interval, scale: Scale) => [
  ...(of.low === null ? [] : [{ name: "95 % interval", value: intervalText(of, scale) }]),
  ...(isClear(of) === false ? [{ name: "Noise", value: NOT_CLEAR }] : []),
];

interface FallRow extends Fall, Filled {
  id: string;
  label: string;
  /** The change with its sign. */
  figure: string;
  aside: string;
}

interface Total {
  label: string;
  value: number;
  figure: string;
  aside: string;
}

interface WaterfallProps {
  /** One sentence with the figures. */
  label: string;
  base: Total;
  rows: readonly FallRow[];
  candidate: Total;
  scale: Scale;
  /** The tip of a row, where row 0 is the base. */
  tip(row: number): TipContent;
}

const ROW = 26;
const BAR = 16;
const TOP = 4;
/** Height for ticks under the rows. */
const BELOW = 24;
const MOST_LABEL = 250;
const GAP = 10;
/** Intervals are left to the tip where bars would have less room than this. */
const LEAST_BARS = 120;
/** By how much bold letters are wider at most. */
const BOLD = 1.15;

const waterfallHeight = (rows: number): number => TOP + (rows + 2) * ROW + BELOW;

/** What leads from one total to another: a row for each change, which begins where the previous one ended. */
const Waterfall = sized<WaterfallProps>(Drawn, ({ rows }) => waterfallHeight(rows.length));

function Drawn(props: WaterfallProps & { width: number }) {
  const { label, base, rows, candidate, scale, tip, width } = props;
  const [at, setAt] = useState<number | null>(null);
  const [pointer, setPointer] = useState<number | null>(null);
  const picture = useMemo(
    () => <Rows {...{ base, rows, candidate, scale, width }} />,
    [base, rows, candidate, scale, width],
  );
  const count = rows.length + 2;
  const leave = () => {
    setAt(null);
    setPointer(null);
  };
  const point = (event: PointerEvent) => {
    setPointer(pointerX(event));
    setAt(Math.max(0, Math.min(count - 1, Math.floor((pointerY(event) - TOP) / ROW))));
  };
  const typed = (event: KeyboardEvent) => {
    const next = event.key === "Escape" ? null : moved(KEYS[event.key] ?? event.key, at, count);
    if (next === undefined) return;
    setAt(next);
    event.preventDefault();
  };
  return (
    <>
      <svg
        class="chart waterfall"
        width={width}
        height={waterfallHeight(rows.length)}
        {...slider(label, at, count, at === null ? null : tip(at), "vertical")}
        onPointerMove={point}
        onPointerLeave={leave}
        onBlur={leave}
        onKeyDown={typed}
      >
        {at !== null && <rect class="under" x={0} y={TOP + at * ROW} width={width} height={ROW} />}
        {picture}
      </svg>
      {at !== null && (
        <Tip content={tip(at)} x={pointer ?? width / 3} y={TOP + (at + 1) * ROW} width={width} above={TOP + at * ROW} />
      )}
    </>
  );
}

/** Up and down also move, because the rows go down the page. */
const KEYS: Readonly<Record<string, string>> = { ArrowDown: "ArrowRight", ArrowUp: "ArrowLeft" };

/** Names at the left end, figures and intervals at the right. */
function columnsFor(rows: readonly Pick<FallRow, "label" | "figure" | "aside">[], width: number) {
  const widest = (of: "label" | "figure" | "aside") => {
    const texts = rows.map((row) => row[of]);
    return widestOf(texts) * BOLD;
  };
  const left = Math.min(MOST_LABEL, widest("label") + GAP);
  const right = width - widest("figure") - 3 * GAP;
  const aside = widest("aside");
  return right - aside - left < LEAST_BARS ? { left, aside: null, right } : { left, aside, right: right - aside };
}

type PictureProps = Omit<WaterfallProps, "label" | "tip"> & { width: number };

function Rows({ base, rows, candidate, scale, width }: PictureProps) {
  const levels = levelsOf(base.value, rows);
  const axis = fallAxis(
    [base.value, candidate.value].map(scale.of),
    levels.map((level) => scaled(level, scale)),
  );
  const all = [base, ...rows, candidate];
  const { left, right, aside } = columnsFor(all, width);
  const x = (value: number) => left + ((value - axis.low) / (axis.high - axis.low || 1)) * (right - left);
  const last = rows.length + 1;
  return (
    <>
      <Ticks axis={axis} x={x} foot={TOP + (last + 1) * ROW} unit={scale.unit} />
      {all.map((each, row) => (
        <g key={row}>
          <text class={row === 0 || row === last ? "end firm-axis" : "end second"} x={left - GAP} y={middle(row) + 4}>
            {shortenedTo(each.label, (left - GAP) / BOLD)}
          </text>
          <text class="end firm-axis" x={aside === null ? width : width - aside - GAP} y={middle(row) + 4}>
            {each.figure}
          </text>
          {aside !== null && (
            <text class="end second" x={width} y={middle(row) + 4}>
              {each.aside}
            </text>
          )}
        </g>
      ))}
      <TotalBar row={0} to={x(scale.of(base.value))} left={left} cut={axis.low > 0} />
      {levels.map((level, at) => (
        <Change key={rows[at]!.id} row={at + 1} level={scaled(level, scale)} fall={rows[at]!} x={x} />
      ))}
      <TotalBar row={last} to={x(scale.of(candidate.value))} left={left} cut={axis.low > 0} />
    </>
  );
}

const middle = (row: number): number => TOP + (row + 0.5) * ROW;

const scaled = ({ from, to, low, high }: Level, { of }: Scale): Level => ({
  from: of(from),
  to: of(to),
  low: low === null ? null : of(low),
  high: high === null ? null : of(high),
});

function Ticks({ axis, x, foot, unit }: { axis: FallAxis; x(value: number): number; foot: number; unit: string }) {
  return (
    <g>
      {legible(axis.ticks, x, unit).map(({ value, text }) => (
        <g key={value}>
          <line class={value === 0 ? "tick" : "grid"} x1={x(value)} x2={x(value)} y1={TOP} y2={foot} />
          <text class="mid" x={x(value)} y={foot + 14}>
            {text}
          </text>
        </g>
      ))}
    </g>
  );
}

/** The least distance between the labels of two ticks, px. */
const TICK_GAP = 6;

/**
 * The ticks whose labels do not touch: all of them, or else as many as there is room for at equal distances from the
 * first to the last, which names the unit.
 */
export function legible(ticks: readonly number[], x: (value: number) => number, unit: string) {
  const last = ticks.length - 1;
  const labels = ticks.map((value, at) => ({ value, text: at === last ? `${tick(value)}\u00a0${unit}` : tick(value) }));
  const half = (text: string) => textWidth(text) / 2;
  for (let pace = 1; pace <= last; pace++) {
    if (last % pace !== 0) continue;
    const shown = labels.filter((_, at) => at % pace === 0);
    const apart = shown.every(({ value, text }, at) => {
      const next = shown[at + 1];
      return !next || x(next.value) - half(next.text) - x(value) - half(text) >= TICK_GAP;
    });
    if (apart) return shown;
  }
  return labels.slice(-1);
}

/** A total, from 0 on; where the axis begins above 0 the bar has a break. */
function TotalBar({ row, to, left, cut }: { row: number; to: number; left: number; cut: boolean }) {
  const y = middle(row) - BAR / 2;
  return (
    <>
      <rect class="total" x={left + 0.5} y={y + 0.5} width={Math.max(1, to - left - 1)} height={BAR - 1} />
      {cut && <path class="break" d={`M${left + 12} ${y - 2}l-4 ${BAR + 4}h5l4 ${-BAR - 4}z`} />}
    </>
  );
}

interface ChangeProps {
  row: number;
  level: Level;
  fall: FallRow;
  x(value: number): number;
}

/** The change, a line to the next row from where it ends, and a whisker over its interval. */
function Change({ row, level: { from, to, low, high }, fall, x }: ChangeProps) {
  const y = middle(row);
  const [start, end] = [Math.min(x(from), x(to)), Math.max(x(from), x(to))];
  return (
    <>
      <line class="level" x1={x(from)} x2={x(from)} y1={y - ROW + BAR / 2} y2={y - BAR / 2} />
      <rect
        x={start}
        y={y - BAR / 2}
        width={Math.max(1, end - start)}
        height={BAR}
        style={svgPaint(fall.colour, fall.hatched)}
      />
      {low !== null && high !== null && <path class="whisker" d={`M${x(low)} ${y - 4}v8m0 -4H${x(high)}m0 -4v8`} />}
      <line class="level" x1={x(to)} x2={x(to)} y1={y + BAR / 2} y2={y + ROW - BAR / 2} />
    </>
  );
}

/** A change of the whole, and its interval where that is known. */
interface Fall {
  change: number;
  low: number | null;
  high: number | null;
}

/** Where a change begins and ends, and the range in which it may end. */
interface Level {
  from: number;
  to: number;
  low: number | null;
  high: number | null;
}

export function levelsOf(base: number, falls: readonly Fall[]): readonly Level[] {
  let at = base;
  return falls.map(({ change, low, high }) => {
    const from = at;
    at += change;
    return { from, to: at, low: low === null ? null : from + low, high: high === null ? null : from + high };
  });
}

interface FallAxis {
  low: number;
  high: number;
  ticks: readonly number[];
}

/**
 * The axis begins above 0 where all changes together would take less than this share: they would not be visible
 * otherwise.
 */
const SEEN = 0.2;

/** Room at both ends of the range of changes, as a share of it. */
const MARGIN = 0.15;

/** An axis with room for all levels; `low` is 0, or else the bars of the totals are drawn with a break. */
export function fallAxis(totals: readonly number[], levels: readonly Level[]): FallAxis {
  const all = [...totals, ...levels.flatMap(({ from, to, low, high }) => [from, to, low ?? to, high ?? to])];
  const [least, most] = [Math.min(...all), Math.max(...all)];
  const range = most - least;
  if (range >= SEEN * most || range === 0) {
    const { end, ticks: found } = zeroAxis(most);
    return { low: Math.min(0, least), high: end, ticks: found };
  }
  const low = Math.max(0, least - MARGIN * range - range / 4);
  const high = most + MARGIN * range;
  return { low, high, ticks: ticks(low, high) };
}
