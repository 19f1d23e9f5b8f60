import type { SlowLine } from "../../api.gen";
import { InlineBar } from "../../components/inline_bar";
import { Picture } from "../../components/picture";
import { type Column, Table } from "../../components/table";
import { ns } from "../../format";
import type { Tab } from "../props";

/** Lines of the user's code that a batch spends its time in. */
export function SlowLines({ lines, tab, name }: { lines: readonly SlowLine[]; tab: Tab; name: string }) {
  const longest = Math.max(...lines.map((line) => line.ns_per_batch), 1);
  return (
    <Picture title={`A batch spends ${ns(lines[0]!.ns_per_batch)} in ${lines[0]!.line}`} name={`dataset lines ${name}`} drawn={false} table={() => ({ columns: [{ label: "Line" }, { label: "A batch", unit: "ns" }], rows: lines.map((line) => [line.line, line.ns_per_batch]) })} link={() => tab.address()}>
      <Table label="Lines of the dataset" columns={columns(longest)} rows={lines} rowKey={(line) => line.line} most={8} sort={tab.state["lines"]} onSort={(next) => tab.update({ lines: next })} />
    </Picture>
  );
}

const columns = (longest: number): Column<SlowLine>[] => [
  { id: "line", label: "Line", width: "60%", order: (row) => row.line, cell: (row) => <span title={row.line}>{row.line}</span> },
  { id: "bar", label: "", cell: (row) => <InlineBar pieces={[{ share: row.ns_per_batch / longest, colour: "data" }]} /> },
  { id: "batch", label: "A batch", width: "72px", numeric: true, order: (row) => row.ns_per_batch, cell: (row) => ns(row.ns_per_batch) },
];
