/** Source lines on which a batch spends its time: in the main process, and in worker processes. */

import type { LoaderLine, Phrase, RecordedLine, RecordedLines } from "../../api.gen";
import { Sentence } from "../../components/sentence";
import { type Column, fileFields } from "../../components/table";
import { counted, ns, share } from "../../format";
import { columnHead, type Meanings } from "../../meanings";
import type { Tab } from "../props";
import { barColumn, TablePicture } from "../table_picture";

/** Lines of the user's code on which a batch spends its time. */
export function SlowLines({ lines, tab, name }: { lines: readonly LoaderLine[]; tab: Tab; name: string }) {
  const longest = Math.max(...lines.map((line) => line.ns_per_batch), 1);
  return (
    <TablePicture
      title={`A batch spends ${ns(lines[0]!.ns_per_batch)} in ${shortLine(lines[0]!.line)}`}
      details="The time of a line includes what it calls in torch and in Python's standard library."
      name={`dataset lines ${name}`}
      label="Lines of the dataset"
      columns={[
        lineColumn("60%"),
        barColumn<LoaderLine>((row) => [{ share: row.ns_per_batch / longest, colour: "data" }]),
        batchColumn("72px"),
      ]}
      rows={lines}
      rowKey={(line) => line.line}
      maxRows={8}
      order="lines"
      tab={tab}
    />
  );
}

const lineColumn = (width: string): Column<LoaderLine> => ({
  id: "line",
  label: "Line",
  width,
  order: (row) => row.line,
  cell: (row) => <span data-hint={row.line}>{shortLine(row.line)}</span>,
});

const batchColumn = (width: string): Column<LoaderLine> => ({
  id: "batch",
  label: "A batch",
  width,
  figures: { of: (row) => row.ns_per_batch, unit: "ns" },
});

/** Lines in which the recorder's samples found the workers. */
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
    <TablePicture
      title={`About ${share(first.share)} of batch production is in ${shortLine(first.line)}`}
      name={`worker lines ${name}`}
      label="Lines of the workers"
      columns={sampledColumns(longest, tab.meanings)}
      rows={lines}
      rowKey={(line) => line.line}
      maxRows={8}
      order="worker_lines"
      tab={tab}
    >
      <p class="quiet small aside">
        Est. from {counted(samples, "sample")} in {counted(bursts, "burst")}
        {whole && " of the whole recording, because this span has too few"}.
      </p>
    </TablePicture>
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
  lineColumn("45%"),
  barColumn((row) => [{ share: row.share / longest, colour: "data" }]),
  {
    id: "share",
    label: "Share",
    width: "56px",
    numeric: true,
    order: (row) => row.share,
    cell: (row) => share(row.share),
    file: fileFields<RecordedLine>({ share: "Share" }, "fraction"),
  },
  {
    id: "error",
    ...columnHead(meanings, "line_error"),
    width: "52px",
    numeric: true,
    order: (row) => row.error,
    cell: (row) => <span class="quiet">{share(row.error)}</span>,
    file: fileFields<RecordedLine>({ error: "Standard deviation" }, "fraction"),
  },
  batchColumn("76px"),
];

const FRAME = /^(?:.*\/)?([^/]+)\((\d+)\): (.*)$/s;

/**
 * Shortens "torchvision/transforms/functional.py(138): to_tensor" to "functional.py:138 to_tensor" for narrow places:
 * lines differ at their ends, which clipping would remove.
 */
export const shortLine = (line: string): string => line.replace(FRAME, "$1:$2 $3");
