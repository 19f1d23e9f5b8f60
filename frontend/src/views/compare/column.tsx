/** A column that says of each row how much more it takes than the row of the same name in the other span. */

import type { Column } from "../../components/table";
import { DASH, scaleFor, shortened } from "../../format";
import type { Names } from "../props";
import { signed } from "./difference";

interface DifferenceOptions<Row> extends Names {
  /** Of the chosen span and of the other: all that there are, so that one unit fits. */
  rows: readonly Row[];
  others: readonly Row[];
  /** The same for the same row in both. */
  keyOf(row: Row): string;
  /** ns of a step (or of whatever both spans have): totals of spans of unlike length say nothing. */
  ns(row: Row): number;
  otherNs?(row: Row): number;
  /** Of what: "a step". */
  per?: string;
}

export const DIFFERENCE_PX = 108;

const NAME_LENGTH = 13;

/** Empty where the other span lacks the row. */
export function differenceColumn<Row>(options: DifferenceOptions<Row>): Column<Row> {
  const { rows, others, keyOf, ns, otherNs = ns, name, own, per = "a step" } = options;
  const there = new Map(others.map((row) => [keyOf(row), otherNs(row)]));
  const moved = (row: Row): number | null => {
    const before = there.get(keyOf(row));
    return before === undefined ? null : Math.round(ns(row)) - Math.round(before);
  };
  const scale = scaleFor(
    rows.reduce((most, row) => Math.max(most, ns(row), there.get(keyOf(row)) ?? 0), 0),
    "ns",
  );
  return {
    id: "difference",
    label: `vs ${shortened(name, NAME_LENGTH)}`,
    meaning: `What ${own} takes more than ${name}, ${per}. A dash: ${name} has no such row.`,
    width: `${DIFFERENCE_PX}px`,
    numeric: true,
    order: moved,
    cell: (row) => <Moved row={there.get(keyOf(row))} moved={moved(row)} name={name} per={per} scale={scale} />,
  };
}

interface MovedProps {
  row: number | undefined;
  moved: number | null;
  name: string;
  per: string;
  scale: ReturnType<typeof scaleFor>;
}

function Moved({ row, moved, name, per, scale }: MovedProps) {
  if (row === undefined || moved === null)
    return (
      <span class="faint" data-hint={`${name} has no such row.`}>
        {DASH}
      </span>
    );
  return <span data-hint={`${name}: ${scale.text(row)} ${per}`}>{signed(moved, scale)}</span>;
}
