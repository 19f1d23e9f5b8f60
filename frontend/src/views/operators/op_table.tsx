import { useMemo } from "preact/hooks";
import { totalsText } from "../../components/figures";
import { GroupedFilter, Unmatched } from "../../components/filter";
import { Sentence } from "../../components/sentence";
import type { Foot } from "../../components/table";
import { counted } from "../../format";
import { readingOf } from "../choices";
import { comparedColumns, OnlyThere } from "../compare/compared_columns";
import { TablePicture } from "../table_picture";
import { comparedOps } from "./compared";
import { columnsOf } from "./op_columns";
import { groupingOf, groupingsOf, keyOf, knowsWhere, matching, type OperatorPart, restOf, tableOf } from "./tables";

/** The number of rows from which the table scrolls. */
const MOST = 16;

/** Ops by time, split as the reader chooses. */
export function OpTable(part: OperatorPart) {
  const { result, titles, tab, name } = part;
  const grouping = groupingOf(result, tab.state.by);
  const where = knowsWhere(result) ? (tab.state.work ?? "ran") : "ran";
  const table = tableOf(result, grouping.id, where);
  const other = comparedOps(part, grouping, where);
  const typed = tab.state.ops ?? "";
  const rows = useMemo(() => matching(table.rows, typed), [table, typed]);
  const opened = tab.state.op;
  const change = (ops: string | null) => tab.update({ ops });
  return (
    <TablePicture
      title={titles.operators ?? "Which ops take the time?"}
      sub={totalsText(readingOf(tab))}
      name={`ops by ${grouping.id} ${name}`}
      tools={
        <GroupedFilter
          groups={{
            label: "Tell ops of one name apart by",
            chosen: grouping.id,
            options: groupingsOf(result),
            choose: (by) => tab.update({ by }),
          }}
          filter={{
            label: "Filter ops",
            placeholder: "Filter names",
            ...{ typed, change, shown: rows.length, all: table.rows.length, folded: table.rest.rows },
          }}
        />
      }
      label={grouping.id === "name" ? "Ops" : `Ops by ${grouping.label.toLowerCase()}`}
      columns={[
        ...columnsOf(grouping, table.rows, tab.meanings, result.has_device, other !== null),
        ...(other ? comparedColumns(other.columns) : []),
      ]}
      rows={rows}
      rowKey={keyOf}
      mark={["operators", (row) => row.name]}
      maxRows={MOST}
      order="operators"
      tab={tab}
      onChoose={(row) => tab.update({ op: row.name === opened ? null : row.name })}
      chosen={opened === undefined ? undefined : rows.filter((row) => row.name === opened).map(keyOf)[0]}
      empty={typed ? <Unmatched typed={typed} change={change} /> : "No op begins in the steps."}
      foot={footOf(restOf(table, rows))}
    >
      {other && typed === "" && <OnlyThere {...other.only} />}
      {titles.outside && (
        <p class="quiet small aside">
          <Sentence phrase={titles.outside} />
        </p>
      )}
    </TablePicture>
  );
}

/** The sum of the rows that are folded or filtered away, so that the columns of own times still add up to the whole. */
const footOf = (rest: ReturnType<typeof restOf>): Foot | false =>
  rest.rows > 0 && {
    name: `${counted(rest.rows, "more row")}`,
    cells: {
      calls: rest.calls,
      host_self: rest.host_self_ns,
      runtime: rest.runtime_ns,
      device_self: rest.device_self_ns,
      allocated_self: rest.allocated_self_bytes,
    },
  };
