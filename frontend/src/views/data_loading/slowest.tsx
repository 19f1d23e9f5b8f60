import type { SlowBatch } from "../../api.gen";
import { type Column, fileFields } from "../../components/table";
import { count, DASH, fine, ns, percent } from "../../format";
import type { Meanings } from "../../meanings";
import { barColumn, figuresOf, TablePicture } from "../table_picture";
import { type LoaderNames, loaderColumn, loaderNames, workerName } from "./batch_production";
import type { RecordedProps } from "./production";

const MOST = 8;

/** The batches that took longest to produce; choosing one also chooses the step that waited for it. */
export function Slowest({ recorded, byReader, chosen, tab, name }: RecordedProps) {
  const { slowest, production_ns: mean, start_ns: from } = recorded;
  const [first] = slowest;
  if (!first) return null;
  const longest = Math.max(...slowest.map((batch) => batch.total_ns), 1);
  const names = loaderNames(recorded);
  const title =
    mean === null ? "Which batches take longest?" : `The slowest batch takes ${ns(longest)}, the mean one ${ns(mean)}`;
  return (
    <TablePicture
      title={title}
      name={`slowest batches ${name}`}
      label="Slowest batches"
      columns={columns(longest, from, names, byReader, tab.meanings)}
      file={[
        ...(names.several ? [] : [{ label: "Loader", of: (row: SlowBatch) => names.of(row.loader) }]),
        { label: "From", unit: "ns", of: (row) => row.start_ns - from },
        ...fileFields<SlowBatch>({ total_ns: "Total" }, "ns"),
      ]}
      rows={slowest}
      rowKey={keyOf}
      maxRows={MOST}
      order="slowest"
      tab={tab}
      chosen={keyOfStep(slowest, chosen.hovered ?? chosen.selected)}
      onChoose={(batch) => batch.step !== null && chosen.select(batch.step)}
      onHover={(batch) => chosen.hover(batch?.step ?? null)}
    />
  );
}

const keyOf = (batch: SlowBatch): string => `${batch.loader} ${batch.worker} ${batch.batch} ${batch.start_ns}`;

function keyOfStep(slowest: readonly SlowBatch[], step: string | null): string | undefined {
  const found = step === null ? undefined : slowest.find((batch) => batch.step === step);
  return found && keyOf(found);
}

function columns(
  longest: number,
  from: number,
  names: LoaderNames,
  byReader: boolean,
  meanings: Meanings,
): Column<SlowBatch>[] {
  const figure = figuresOf<SlowBatch>(meanings);
  const time = (id: string, label: string, width: string, of: (row: SlowBatch) => number): Column<SlowBatch> => ({
    ...{ id, label, width },
    figures: { of, unit: "ns", siblings: "time" },
  });
  return [
    ...(names.several ? [loaderColumn<SlowBatch>(names, "116px")] : []),
    {
      id: "batch",
      label: "Batch",
      width: "52px",
      numeric: true,
      order: (row) => row.batch,
      cell: (row) => (
        <span data-hint={`Begins ${fine(row.start_ns - from)} after the start of the picture`}>{count(row.batch)}</span>
      ),
      file: fileFields<SlowBatch>({ batch: "Batch" }, "count"),
    },
    {
      id: "worker",
      label: "Worker",
      width: "60px",
      numeric: true,
      order: (row) => names.place(row.loader) * 1e6 + row.worker,
      cell: (row) => (
        <span data-hint={names.before(row.loader, workerName(row.worker))}>{row.worker < 0 ? "main" : row.worker}</span>
      ),
      file: [{ label: "Worker", of: (row) => String(row.worker) }],
    },
    {
      id: "step",
      label: "Step",
      width: "56px",
      numeric: true,
      order: (row) => row.step,
      cell: (row) => row.step ?? <span data-hint="No recorded step took it.">{DASH}</span>,
    },
    barColumn((row) => [
      { share: row.dataset_ns / longest, colour: "data" },
      { share: row.collate_ns / longest, colour: "cpu" },
    ]),
    time("dataset", "Dataset", "72px", (row) => row.dataset_ns),
    time("collate", "Collate", "68px", (row) => row.collate_ns),
    {
      ...figure("cpu", "batch_cpu_share", 58, (row) => row.cpu_share),
      cell: (row) => (
        <span data-hint={row.cpu_share === null ? "The batch was not sampled" : undefined}>
          {percent(row.cpu_share)}
        </span>
      ),
    },
    figure("wait", byReader ? "batch_reader_wait_ns" : "batch_wait_ns", 72, (row) => row.wait_ns),
  ];
}
