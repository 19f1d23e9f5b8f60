/** What each line of the user's code costs: a table of lines, and the source text around them. */

import { useMemo } from "preact/hooks";
import type { CodeLine, LineTable, OperatorsResult } from "../../../api.gen";
import { lineName, shortName } from "../../../code_line";
import type { Column, Foot } from "../../../components/table";
import { counted } from "../../../format";
import type { Meanings } from "../../../meanings";
import { totalsOf } from "../../choices";
import { differenceColumn } from "../../compare/compared_columns";
import { figuresOf, Middle, TablePicture, timesOf } from "../../table_picture";
import type { OperatorPart } from "../tables";
import { type Measure, measuresOf, sameLines } from "./rows";
import { SourceView } from "./view";

export function Lines({ part, span }: { part: OperatorPart; span: string }) {
  const { result, titles, tab, name } = part;
  const table = result.lines!;
  const { rows } = table;
  const measures = useMemo(() => measuresOf(rows), [rows]);
  const difference = tab.state.line_change === "off" ? null : differenceOf(part, table, measures[0]);
  const chosen = rows.find(({ source }) => source === tab.state.line) ?? rows[0];
  return (
    <>
      <TablePicture
        title={titles.lines ?? "Which lines take the time?"}
        sub={totalsOf(tab)}
        details={MEANING[table.line_of]}
        name={`lines ${name}`}
        label="Lines of your code"
        columns={[...columnsOf(rows, tab.meanings), ...(difference ? [difference.column] : [])]}
        rows={rows}
        rowKey={({ source }) => source}
        mark={["lines", ({ source }) => source]}
        maxRows={10}
        order="code_lines"
        tab={tab}
        onChoose={({ source }) => tab.update({ line: source })}
        chosen={chosen?.source}
        empty="No line of your code runs in the steps."
        foot={footOf(table)}
      />
      {chosen && (
        <SourceView part={part} span={span} chosen={chosen} measures={measures} moved={difference?.moved ?? null} />
      )}
    </>
  );
}

const MEANING: Readonly<Record<LineTable["line_of"], string>> = {
  function:
    "The trace names the line where a function begins: figures are of the whole function, without other functions of " +
    "yours that it calls. With 0 calls it was running when the recording began, and the line is the one it had " +
    "reached.",
  call: "The trace names the lines that ran.",
};

/** The width of a column of times or bytes, px. */
const WIDTH = 92;

/** The characters at the end of a line's name that always show: ":234 <module>" and more. */
const TAIL = 16;

function columnsOf(rows: readonly CodeLine[], meanings: Meanings): Column<CodeLine>[] {
  const figure = figuresOf<CodeLine>(meanings);
  const time = (id: string, metric: string, of: (row: CodeLine) => number | null) =>
    figure(id, metric, WIDTH, of, timesOf("recording"));
  const knows = (id: keyof CodeLine) => rows.some((row) => row[id] !== null);
  return [
    {
      id: "source",
      label: "Line",
      least: "180px",
      order: ({ source }) => source,
      cell: ({ source }) => <Middle name={shortName(source)} hint={lineName(source)} tail={TAIL} />,
    },
    ...(knows("calls") ? [figure("calls", "line_calls", 64, (row) => row.calls, { adds: "recording" })] : []),
    ...(knows("device_ns")
      ? [
          time("idle", "line_idle", (row) => row.idle_ns),
          time("device", "line_device", (row) => row.device_ns),
          { ...figure("launches", "line_launches", 76, (row) => row.launches, { adds: "recording" }), extra: true },
        ]
      : []),
    time("host_self", "line_host_self", (row) => row.host_self_ns),
    time("host_total", "line_host_total", (row) => row.host_total_ns),
    ...(knows("allocated_bytes")
      ? [figure("allocated", "line_allocated", WIDTH, (row) => row.allocated_bytes, { adds: "recording" })]
      : []),
  ];
}

/** The sum of the lines that are not listed, and of what is outside any line: the columns then add up to the whole. */
function footOf({ rows, more, rest, elsewhere }: LineTable): Foot | false {
  if (rows.length === 0) return false;
  const sum = (id: "device_ns" | "idle_ns" | "launches" | "allocated_bytes") =>
    elsewhere[id] === null ? null : elsewhere[id] + (rest[id] ?? 0);
  return {
    name: more > 0 ? `${counted(more, "more line")}, and elsewhere` : "Elsewhere",
    cells: {
      idle: sum("idle_ns"),
      device: sum("device_ns"),
      launches: sum("launches"),
      host_self: elsewhere.host_self_ns + rest.host_self_ns,
      allocated: sum("allocated_bytes"),
    },
  };
}

export interface Difference {
  column: Column<CodeLine>;
  /** By line: how much more it takes than in the other span, per step; for lines that both have. */
  moved: ReadonlyMap<string, number>;
}

/**
 * The difference to the other span, in the measure of the heat; null where nothing is compared, or the other has no
 * lines.
 */
function differenceOf(
  { result, compared }: OperatorPart,
  { rows }: LineTable,
  { id, unit }: Measure,
): Difference | null {
  const other = compared?.page.result;
  if (!compared || !other?.lines || unit !== "ns") return null;
  const same = sameLines(rows, other.lines.rows);
  const named = new Map([...same].map(([source, row]) => [row, source]));
  const ns = (row: CodeLine) => row[id] ?? 0;
  return {
    column: differenceColumn({
      rows,
      others: other.lines.rows,
      keyOf: (row) => named.get(row) ?? row.source,
      ns,
      ...{ name: compared.name, own: compared.own, steps: [result.steps.length, other.steps.length] },
      figure: FIGURE[id],
      whole: other.lines.more === 0,
    }),
    moved: new Map(
      rows.flatMap((row) => {
        const there = same.get(row.source);
        return there ? [[row.source, ns(row) / stepsOf(result) - ns(there) / stepsOf(other)] as const] : [];
      }),
    ),
  };
}

const FIGURE: Readonly<Record<Measure["id"], string>> = {
  idle_ns: "GPU idle time",
  device_ns: "GPU time",
  host_self_ns: "CPU time",
  allocated_bytes: "Memory",
};

const stepsOf = ({ steps }: OperatorsResult): number => Math.max(1, steps.length);
