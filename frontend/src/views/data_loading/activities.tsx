import type { Activity, LoaderActivities } from "../../api.gen";
import { Sentence } from "../../components/sentence";
import type { Column } from "../../components/table";
import { count, DASH, ns, share } from "../../format";
import { columnHead, type Meanings } from "../../meanings";
import { differenceColumn } from "../compare/compared_columns";
import type { Compared, Tab, Titles } from "../props";
import { barColumn, TablePicture } from "../table_picture";
import { shortLine } from "./source_lines";

/** What the training thread does inside the loader, and in which line, as self time per batch. */
interface ActivitiesProps {
  activities: LoaderActivities;
  titles: Titles;
  tab: Tab;
  name: string;
  compared?: Compared<"data_loading"> | null;
}

export function Activities({ activities, titles, tab, name, compared = null }: ActivitiesProps) {
  const { rows, more, more_ns } = activities;
  const missing = titles.lines_missing;
  const shown = columns(
    Math.max(...rows.map((row) => row.ns_per_batch)),
    rows.some((row) => row.lines.length > 0),
    tab.meanings,
  );
  return (
    <TablePicture
      title={titles.activities ?? "What the loader does"}
      details="Time of the main process in each activity itself, without the activities inside it."
      name={`loader activities ${name}`}
      label="What the loader does"
      columns={[...shown, ...difference(rows, compared)]}
      rows={rows}
      rowKey={nameOf}
      foot={more > 0 && { name: `${count(more)} more`, cells: { batch: more_ns } }}
      order="activity"
      tab={tab}
    >
      {missing && (
        <p class="quiet small aside">
          <Sentence phrase={missing} />
        </p>
      )}
    </TablePicture>
  );
}

function difference(rows: readonly Activity[], compared: Compared<"data_loading"> | null): Column<Activity>[] {
  const others = compared?.page.result.activities?.rows;
  if (!compared || !others) return [];
  const { name, own } = compared;
  return [differenceColumn({ rows, others, keyOf: nameOf, ns: (row) => row.ns_per_batch, name, own, per: "a batch" })];
}

const nameOf = ({ name }: Activity): string => name ?? "Python, no op";
const lineOf = ({ lines }: Activity): string | null => lines[0]?.line ?? null;

/** Where no call stack shows any line, the column of dashes is left out: a sentence below says why. */
function columns(longest: number, lines: boolean, meanings: Meanings): Column<Activity>[] {
  const line: Column<Activity> = {
    id: "line",
    ...columnHead(meanings, "activity_line"),
    width: "44%",
    cell: (row) => <Where row={row} />,
    order: lineOf,
    file: [
      { label: "Line", of: lineOf },
      { label: "In this line", unit: "ns", of: ({ lines: [first] }) => first?.ns_per_batch ?? null },
    ],
  };
  return [
    {
      id: "activity",
      label: "Activity",
      width: lines ? "27%" : "55%",
      cell: (row) => <span data-hint={nameOf(row)}>{nameOf(row)}</span>,
      order: nameOf,
    },
    ...(lines ? [line] : []),
    barColumn((row) => [{ share: row.ns_per_batch / longest, colour: row.name === null ? "other" : "cpu" }]),
    { id: "batch", label: "A batch", width: "68px", figures: { of: (row) => row.ns_per_batch, unit: "ns" } },
  ];
}

/**
 * The line with the largest part of the time, and its share where there are others, which are listed on hover with
 * their times.
 */
function Where({ row: { lines, ns_per_batch: all } }: { row: Activity }) {
  const [first, ...others] = lines;
  if (!first)
    return (
      <span class="faint" data-hint="No call stack shows its line.">
        {DASH}
      </span>
    );
  return (
    <span data-hint={lines.map((each) => `${each.line}, ${ns(each.ns_per_batch)}`).join("\n")}>
      {others.length > 0 && `${share(first.ns_per_batch / all)} in `}
      {shortLine(first.line)}
    </span>
  );
}
