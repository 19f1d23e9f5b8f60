import type { LoaderLine } from "../../api.gen";
import { InlineBar } from "../../components/inline_bar";
import { Picture } from "../../components/picture";
import { type Column, Table } from "../../components/table";
import { ns } from "../../format";
import type { Tab } from "../props";
import { shortLine } from "./source_line";

/** Lines of the user's code that a batch spends its time in. `opsOnly`: without the Python around their ops, which has no call stack. */
export function SlowLines({
  lines,
  opsOnly,
  tab,
  name,
}: {
  lines: readonly LoaderLine[];
  opsOnly: boolean;
  tab: Tab;
  name: string;
}) {
  const longest = Math.max(...lines.map((line) => line.ns_per_batch), 1);
  return (
    <Picture
      title={`A batch spends ${opsOnly ? "at least " : ""}${ns(lines[0]!.ns_per_batch)} in ${shortLine(lines[0]!.line)}`}
      name={`dataset lines ${name}`}
      drawn={false}
      table={() => ({
        columns: [{ label: "Line" }, { label: "A batch", unit: "ns" }],
        rows: lines.map((line) => [line.line, line.ns_per_batch]),
      })}
      link={() => tab.address()}
    >
      <Table
        label="Lines of the dataset"
        columns={columns(longest)}
        rows={lines}
        rowKey={(line) => line.line}
        most={8}
        sort={tab.state["lines"]}
        onSort={(next) => tab.update({ lines: next })}
      />
      <p class="quiet small aside">
        {opsOnly
          ? "Ops that they call, without the Python around those."
          : "With what they call in torch and in Python's own library."}
      </p>
    </Picture>
  );
}

const columns = (longest: number): Column<LoaderLine>[] => [
  {
    id: "line",
    label: "Line",
    width: "60%",
    order: (row) => row.line,
    cell: (row) => <span title={row.line}>{shortLine(row.line)}</span>,
  },
  {
    id: "bar",
    label: "",
    cell: (row) => <InlineBar pieces={[{ share: row.ns_per_batch / longest, colour: "data" }]} />,
  },
  {
    id: "batch",
    label: "A batch",
    width: "72px",
    numeric: true,
    order: (row) => row.ns_per_batch,
    cell: (row) => ns(row.ns_per_batch),
  },
];
