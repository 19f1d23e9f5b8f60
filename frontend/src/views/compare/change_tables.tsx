/** Kernels, ops, blocking calls and copies of both runs, the largest change first: one table at a time. */

import { useMemo } from "preact/hooks";
import type { ChangeTable, RowChange } from "../../api.gen";
import { Chips } from "../../components/chips";
import { Filter } from "../../components/filter";
import { Picture } from "../../components/picture";
import { Table } from "../../components/table";
import { count, counted } from "../../format";
import { sorting } from "../choices";
import type { Pair, Tab } from "../props";
import { changeColumns, changeData } from "./change_columns";
import { isKind, KINDS, type Kind, TABLES } from "./change_words";

export function ChangeTables({ pair, tab }: { pair: Pair; tab: Tab }) {
  const { tables } = pair.found.comparison;
  const shown = tables.find(({ of }) => of === tab.state.table) ?? tables[0];
  return shown === undefined ? null : <Changes shown={shown} pair={pair} tab={tab} />;
}

function Changes({ shown, pair, tab }: { shown: ChangeTable; pair: Pair; tab: Tab }) {
  const { of, rows: all, more } = shown;
  const { tables } = pair.found.comparison;
  const kind = isKind(tab.state.moved) ? tab.state.moved : "all";
  const typed = tab.state.kernel ?? "";
  const ofKind = useMemo(() => all.filter(KINDS[kind].has), [all, kind]);
  const rows = useMemo(() => matching(ofKind, typed), [ofKind, typed]);
  const columns = useMemo(() => changeColumns(of, pair, all), [of, pair, all]);
  return (
    <Picture
      title={titleOf(shown)}
      sub={more > 0 ? `a step; the ${count(all.length)} that changed most` : "a step; most change first"}
      name={`${of} by change ${pair.own} ${pair.name}`}
      table={() => changeData(of, rows, pair)}
      link={() => tab.address()}
      drawn={false}
      tools={
        <Filter
          label="Filter by name, op or module"
          placeholder="Filter names"
          typed={typed}
          change={(kernel) => tab.update({ kernel })}
          shown={rows.length}
          all={ofKind.length}
        />
      }
    >
      {tables.length > 1 && (
        <Chips
          label="What is compared"
          name="Of"
          chosen={of}
          options={tables.map((each) => ({ id: each.of, label: TABLES[each.of].label }))}
          choose={(table) => tab.update({ table: table === tables[0]!.of ? null : table })}
        />
      )}
      <Chips
        label={`Which ${TABLES[of].label.toLowerCase()}`}
        name="Show"
        chosen={kind}
        options={(Object.keys(KINDS) as Kind[]).map((id) => ({
          id,
          label: `${KINDS[id].label} ${count(all.filter(KINDS[id].has).length)}`,
          meaning: KINDS[id].meaning,
        }))}
        choose={(moved) => tab.update({ moved: moved === "all" ? null : moved })}
      />
      <Table
        label={`${TABLES[of].label} by change`}
        columns={columns}
        rows={rows}
        rowKey={keyOf}
        maxRows={14}
        {...sorting(tab, "changes")}
        empty={typed ? "Nothing here matches." : `No such ${TABLES[of].label.toLowerCase()}.`}
      />
    </Picture>
  );
}

function titleOf({ of, rows, more }: ChangeTable): string {
  const all = rows.length + more;
  return of === "copies" ? "Which copies changed?" : `Which of ${counted(all, TABLES[of].one)} changed?`;
}

/** Two rows never have the same place on both sides. */
const keyOf = (row: RowChange): string => JSON.stringify(row);

function matching(rows: readonly RowChange[], typed: string): readonly RowChange[] {
  const words = typed.trim().toLowerCase();
  if (words === "") return rows;
  return rows.filter(({ base_name, candidate_name, op, module, source }) =>
    [base_name, candidate_name, op, module, source].some((each) => each?.toLowerCase().includes(words)),
  );
}
