/** Columns that show for each row what it takes in the other span, and how much more it takes here. */

import { max, sum } from "d3-array";
import type { Column } from "../../components/table";
import { DASH, scaleFor, shortened } from "../../format";
import type { Names } from "../props";
import { signed } from "./difference";

interface DifferenceOptions<Row> extends Names {
  /** All rows of the chosen span and of the other one, so that one unit suits both. */
  rows: readonly Row[];
  others: readonly Row[];
  /** Returns the same key for the same row in both spans. */
  keyOf(row: Row): string;
  /** ns per step, or over all steps where `steps` is given. */
  ns(row: Row): number;
  /** The numbers of steps of both spans: sums over spans of different length cannot be compared. */
  steps?: readonly [own: number, other: number];
  /** What the times refer to: "a step". */
  per?: string;
  /** The figure that is compared, where several columns of the table could be meant. */
  figure?: string;
  /** `others` are all rows of the other span, so that a row without a counterpart exists only here. */
  whole?: boolean;
}

export const DIFFERENCE_PX = 108;
const OTHER_PX = 92;

const NAME_LENGTH = 13;

export const comparedColumns = <Row,>(options: DifferenceOptions<Row>): Column<Row>[] => [
  otherColumn(options),
  differenceColumn(options),
];

/** The difference from the rows of the other span; no column where nothing is compared, or these are not known. */
export const differences = <Row,>(
  other: Names | null | undefined,
  others: readonly Row[] | null | undefined,
  of: Omit<DifferenceOptions<Row>, "others" | keyof Names>,
): Column<Row>[] => (other && others ? [differenceColumn({ ...other, ...of, others })] : []);

/**
 * The difference; empty where the other span lacks the row, or a remark to that effect where all of its rows are known.
 */
export function differenceColumn<Row>(options: DifferenceOptions<Row>): Column<Row> {
  const { name, own, per = "a step", figure, whole = false } = options;
  const { there, scale, moved } = pairing(options);
  const lacking = whole ? "Only here" : "A dash";
  const what = figure === undefined ? "What" : `${figure}: what`;
  return {
    id: "difference",
    label: `vs ${shortened(name, NAME_LENGTH)}`,
    meaning: `${what} ${own} takes more than ${name}, ${per}. ${lacking}: ${name} has no such row.`,
    width: `${DIFFERENCE_PX}px`,
    numeric: true,
    order: moved,
    file: [{ label: `${own} less ${name}`, unit: "ns", of: moved }],
    cell: (row) => <Moved row={there(row)} moved={moved(row)} {...{ name, per, scale, whole }} />,
  };
}

function otherColumn<Row>(options: DifferenceOptions<Row>): Column<Row> {
  const { name, per = "a step", figure = "Time" } = options;
  const { there, scale } = pairing(options);
  return {
    id: "other",
    label: shortened(name, NAME_LENGTH),
    meaning: `${figure} in ${name}, ${per}.`,
    width: `${OTHER_PX}px`,
    numeric: true,
    order: (row) => there(row) ?? null,
    file: [{ label: name, unit: "ns", of: (row) => there(row) ?? null }],
    cell: (row) => scale.text(there(row) ?? null),
    missing: `${name} has no such row.`,
  };
}

/** Matches each row with its counterpart in the other span, ns; all use one unit. */
function pairing<Row>(options: DifferenceOptions<Row>) {
  const { rows, others, keyOf, steps: [here, beside] = [1, 1] } = options;
  const ns = (row: Row) => options.ns(row) / Math.max(1, here);
  const found = new Map(others.map((row) => [keyOf(row), options.ns(row) / Math.max(1, beside)]));
  const there = (row: Row): number | undefined => found.get(keyOf(row));
  const moved = (row: Row): number | null => {
    const before = there(row);
    return before === undefined ? null : Math.round(ns(row)) - Math.round(before);
  };
  const scale = scaleFor(max(rows, (row) => Math.max(ns(row), there(row) ?? 0)) ?? 0, "ns");
  return { there, moved, scale };
}

interface MovedProps {
  row: number | undefined;
  moved: number | null;
  name: string;
  per: string;
  scale: ReturnType<typeof scaleFor>;
  whole: boolean;
}

function Moved({ row, moved, name, per, scale, whole }: MovedProps) {
  if (row === undefined || moved === null)
    return (
      <span class="faint" data-hint={`${name} has no such row.`}>
        {whole ? "only here" : DASH}
      </span>
    );
  return <span data-hint={`${name}: ${scale.text(row)} ${per}`}>{signed(moved, scale)}</span>;
}

/** A row of the other span that the chosen one lacks. */
export interface Lacking {
  name: string;
  /** Per step. */
  ns: number;
}

interface OnlyThereProps extends Names {
  rows: readonly Lacking[];
  /** The table has all rows of the chosen span: a row missing in the table is missing in the span. */
  whole: boolean;
  per: string;
}

/** How many rows are named individually, those with most time first. */
const MOST = 4;
const SHOWN_LENGTH = 48;

export function OnlyThere({ rows, whole, name, own, per }: OnlyThereProps) {
  const longest = [...rows].filter(({ ns }) => ns > 0).sort((a, b) => b.ns - a.ns);
  if (longest.length === 0) return null;
  const scale = scaleFor(longest[0]!.ns, "ns");
  const more = longest.slice(MOST);
  const texts = longest.slice(0, MOST).map((row) => `${shortened(row.name, SHOWN_LENGTH)} (${scale.text(row.ns)})`);
  const rest = sum(more, (row) => row.ns);
  if (more.length > 0) texts.push(`${more.length} more (${scale.text(rest)})`);
  return (
    <p class="quiet small aside only-there">
      {whole ? `Only ${name} has` : `Not among these rows of ${own}, but in ${name}`}, {per}: {texts.join(", ")}.
    </p>
  );
}
