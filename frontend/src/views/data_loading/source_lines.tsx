/** Source lines that a batch spends its time in: of the main process, and of worker processes. */

import type { LoaderLine, Phrase, RecordedLine, RecordedLines } from "../../api.gen";
import { InlineBar } from "../../charts/bars/split_bar";
import { Picture } from "../../components/picture";
import { Sentence } from "../../components/sentence";
import { type Column, Table } from "../../components/table";
import { counted, ns, share } from "../../format";
import { columnHead, type Meanings } from "../../meanings";
import { sorting } from "../choices";
import type { Tab } from "../props";

/** Lines of the user's code that a batch spends its time in. */
export function SlowLines({ lines, tab, name }: { lines: readonly LoaderLine[]; tab: Tab; name: string }) {
  const longest = Math.max(...lines.map((line) => line.ns_per_batch), 1);
  return (
    <Picture
      title={`A batch spends ${ns(lines[0]!.ns_per_batch)} in ${shortLine(lines[0]!.line)}`}
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
        maxRows={8}
        {...sorting(tab, "lines")}
      />
      <p class="quiet small aside">
        The time of a line includes what it calls in torch and in Python's standard library.
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
    cell: (row) => <span data-hint={row.line}>{shortLine(row.line)}</span>,
  },
  {
    id: "bar",
    label: "",
    cell: (row) => <InlineBar segments={[{ share: row.ns_per_batch / longest, colour: "data" }]} />,
  },
  {
    id: "batch",
    label: "A batch",
    width: "72px",
    figures: { of: (row) => row.ns_per_batch, unit: "ns" },
  },
];

/** Lines that the workers were seen in, in the samples of the recorder. */
export function WorkerLines({
  lines: { lines, samples, bursts, whole, why },
  tab,
  name,
}: {
  lines: RecordedLines;
  tab: Tab;
  name: string;
}) {
  const [first] = lines;
  if (!first) return why && <NoLines why={tab.meanings.explain(why)} />;
  const longest = Math.max(...lines.map((line) => line.share), Number.MIN_VALUE);
  return (
    <Picture
      title={`About ${share(first.share)} of batch production is in ${shortLine(first.line)}`}
      name={`worker lines ${name}`}
      drawn={false}
      table={() => linesTable(lines)}
      link={() => tab.address()}
    >
      <Table
        label="Lines of the workers"
        columns={sampledColumns(longest, tab.meanings)}
        rows={lines}
        rowKey={(line) => line.line}
        maxRows={8}
        {...sorting(tab, "worker_lines")}
      />
      <p class="quiet small aside">
        Est. from {counted(samples, "sample")} in {counted(bursts, "burst")}
        {whole && " of the whole recording, because this span has too few"}.
      </p>
    </Picture>
  );
}

function NoLines({ why }: { why: Phrase }) {
  return (
    <section class="picture no-curve">
      <div class="head">
        <h2>Which lines does batch production spend its time in?</h2>
      </div>
      <p class="quiet small">
        <Sentence phrase={why} />
      </p>
    </section>
  );
}

const sampledColumns = (longest: number, meanings: Meanings): Column<RecordedLine>[] => [
  {
    id: "line",
    label: "Line",
    width: "45%",
    order: (row) => row.line,
    cell: (row) => <span data-hint={row.line}>{shortLine(row.line)}</span>,
  },
  { id: "bar", label: "", cell: (row) => <InlineBar segments={[{ share: row.share / longest, colour: "data" }]} /> },
  {
    id: "share",
    label: "Share",
    width: "56px",
    numeric: true,
    order: (row) => row.share,
    cell: (row) => share(row.share),
  },
  {
    id: "error",
    ...columnHead(meanings, "line_error"),
    width: "52px",
    numeric: true,
    order: (row) => row.error,
    cell: (row) => <span class="quiet">{share(row.error)}</span>,
  },
  {
    id: "batch",
    label: "A batch",
    width: "76px",
    figures: { of: (row) => row.ns_per_batch, unit: "ns" },
  },
];

function linesTable(lines: readonly RecordedLine[]) {
  const shares = ["Share", "Standard deviation"].map((label) => ({ label, unit: "fraction" as const }));
  return {
    columns: [{ label: "Line" }, ...shares, { label: "A batch", unit: "ns" as const }],
    rows: lines.map((row) => [row.line, row.share, row.error, row.ns_per_batch]),
  };
}

const FRAME = /^(?:.*\/)?([^/]+)\((\d+)\): (.*)$/s;

/**
 * "torchvision/transforms/functional.py(138): to_tensor" is "functional.py:138 to_tensor" where room is scarce: what
 * says
 * lines apart stands at the end, which clipping would take. */
export const shortLine = (line: string): string => line.replace(FRAME, "$1:$2 $3");
