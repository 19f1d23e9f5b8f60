/**
 * What a batch spends its time on: activities of the training thread inside the loader, and source lines in the main
 * process and in worker processes.
 */

import type { Activity, LoaderActivities, LoaderLine, RecordedLine, RecordedLines } from "../../api.gen";
import { lineName, shortName } from "../../code_line";
import { NoPicture } from "../../components/picture";
import { type Column, fileFields } from "../../components/table";
import { count, counted, DASH, ns, share } from "../../format";
import { largestOf } from "../../lists";
import { columnHead, type Meanings } from "../../meanings";
import { sentence } from "../../phrase";
import { differences } from "../compare/compared_columns";
import type { Compared, Titles, ViewPart } from "../props";
import { barColumn, figureColumn, nameColumn, TablePicture } from "../table_picture";

/** What the training thread does inside the loader, and in which line, as self time per batch. */
interface ActivitiesProps extends ViewPart {
  activities: LoaderActivities;
  titles: Titles;
  compared?: Compared<"data_loading"> | null;
}

export function Activities({ activities, titles, tab, name, compared = null }: ActivitiesProps) {
  const { rows, more, more_ns } = activities;
  const missing = titles.lines_missing;
  const time = { keyOf: nameOf, ns: (row: Activity) => row.ns_per_batch, per: "a batch" };
  const difference = differences(compared, compared?.page.result.activities?.rows, { rows, ...time });
  const shown = columns(
    Math.max(...rows.map((row) => row.ns_per_batch)),
    rows.some((row) => row.lines.length > 0),
    tab.meanings,
  );
  return (
    <TablePicture
      title={titles.activities ?? "What the loader does"}
      details={[
        "Time of the main process in each activity itself, without the activities inside it.",
        missing && sentence(missing),
      ]
        .filter(Boolean)
        .join(" ")}
      name={`loader activities ${name}`}
      label="What the loader does"
      columns={[...shown, ...difference]}
      rows={rows}
      rowKey={nameOf}
      foot={more > 0 && { name: `${count(more)} more`, cells: { batch: more_ns } }}
      order="activity"
      tab={tab}
    />
  );
}

const nameOf = ({ name }: Activity): string => name ?? "Python, no op";
const lineOf = ({ lines }: Activity): string | null => lines[0]?.line ?? null;

/** Where no call stack shows any line, the column of dashes is left out: a hint beside the title says why. */
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
      hint: nameOf,
      order: nameOf,
    },
    ...(lines ? [line] : []),
    barColumn((row) => [{ share: row.ns_per_batch / longest, colour: row.name === null ? "other" : "cpu" }]),
    batchColumn(68),
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
    <span data-hint={lines.map((each) => `${lineName(each.line)}, ${ns(each.ns_per_batch)}`).join("\n")}>
      {others.length > 0 && `${share(first.ns_per_batch / all)} in `}
      {shortName(first.line)}
    </span>
  );
}

/** Lines of the user's code on which a batch spends its time. */
export function SlowLines({ lines, tab, name }: ViewPart & { lines: readonly LoaderLine[] }) {
  const longest = largestOf(lines, (line) => line.ns_per_batch);
  return (
    <TablePicture
      title={`A batch spends ${ns(lines[0]!.ns_per_batch)} in ${shortName(lines[0]!.line)}`}
      details="The time of a line includes what it calls in torch and in Python's standard library."
      name={`dataset lines ${name}`}
      label="Lines of the dataset"
      columns={[
        lineColumn("60%"),
        barColumn<LoaderLine>((row) => [{ share: row.ns_per_batch / longest, colour: "data" }]),
        batchColumn(72),
      ]}
      rows={lines}
      rowKey={(line) => line.line}
      maxRows={8}
      order="lines"
      tab={tab}
    />
  );
}

const lineColumn = (width: string): Column<LoaderLine> =>
  nameColumn("line", "Line", (row) => row.line, { width, cell: (row) => shortName(row.line) });

const batchColumn = (width_px: number): Column<Pick<LoaderLine, "ns_per_batch">> =>
  figureColumn("batch", "A batch", width_px, "ns", (row) => row.ns_per_batch);

const WHICH_LINES = "Which lines does batch production spend its time in?";

/** Lines in which the recorder's samples found the workers. */
export function WorkerLines(props: ViewPart & { lines: RecordedLines }) {
  const {
    lines: { lines, samples, bursts, whole, why },
    tab,
    name,
  } = props;
  const [first] = lines;
  if (!first) return why && <NoPicture title={WHICH_LINES} why={tab.meanings.explain(why)} />;
  const longest = Math.max(...lines.map((line) => line.share), Number.MIN_VALUE);
  return (
    <TablePicture
      title={`About ${share(first.share)} of batch production is in ${shortName(first.line)}`}
      details={
        `Est. from ${counted(samples, "sample")} in ${counted(bursts, "burst")}` +
        `${whole ? " of the whole recording, because this span has too few" : ""}.`
      }
      name={`worker lines ${name}`}
      label="Lines of the workers"
      columns={sampledColumns(longest, tab.meanings)}
      rows={lines}
      rowKey={(line) => line.line}
      maxRows={8}
      order="worker_lines"
      tab={tab}
    />
  );
}

const sampledColumns = (longest: number, meanings: Meanings): Column<RecordedLine>[] => [
  lineColumn("45%"),
  barColumn((row) => [{ share: row.share / longest, colour: "data" }]),
  { ...figureColumn("share", "Share", 56, "fraction", (row) => row.share), cell: (row) => share(row.share) },
  {
    id: "error",
    ...columnHead(meanings, "line_error"),
    width: "52px",
    numeric: true,
    order: (row) => row.error,
    cell: (row) => <span class="quiet">{share(row.error)}</span>,
    file: fileFields<RecordedLine>({ error: "Standard deviation" }, "fraction"),
  },
  batchColumn(76),
];
