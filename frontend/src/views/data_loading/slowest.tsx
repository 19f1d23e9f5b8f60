import type { SlowBatch } from "../../api.gen";
import { InlineBar } from "../../charts/bars/split_bar";
import { Picture } from "../../components/picture";
import { type Column, Table } from "../../components/table";
import { count, DASH, fine, ns, percent } from "../../format";
import { columnHead, type Meanings } from "../../meanings";
import { sorting } from "../choices";
import { type LoaderNames, loaderNames, workerName } from "./batch_production";
import type { RecordedProps } from "./production";

const MOST = 8;

/** The batches that took longest to make; the step that waited for one is chosen with it. */
export function Slowest({ recorded, byReader, chosen, tab, name }: RecordedProps) {
  const { slowest, production_ns: mean, start_ns: from } = recorded;
  const [first] = slowest;
  if (!first) return null;
  const longest = Math.max(...slowest.map((batch) => batch.total_ns), 1);
  const names = loaderNames(recorded);
  const title =
    mean === null ? "Which batches take longest?" : `The slowest batch takes ${ns(longest)}, the mean one ${ns(mean)}`;
  return (
    <Picture
      title={title}
      name={`slowest batches ${name}`}
      drawn={false}
      table={() => slowestTable(slowest, names, from)}
      link={() => tab.address()}
    >
      <Table
        label="Slowest batches"
        columns={columns(longest, from, names, byReader, tab.meanings)}
        rows={slowest}
        rowKey={keyOf}
        maxRows={MOST}
        {...sorting(tab, "slowest")}
        chosen={keyOfStep(slowest, chosen.hovered ?? chosen.selected)}
        onChoose={(batch) => batch.step !== null && chosen.select(batch.step)}
        onHover={(batch) => chosen.hover(batch?.step ?? null)}
      />
    </Picture>
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
  const loader: Column<SlowBatch> = {
    id: "loader",
    label: "Loader",
    width: "116px",
    order: (row) => names.place(row.loader),
    cell: (row) => <span data-hint={names.of(row.loader)}>{names.of(row.loader)}</span>,
  };
  return [
    ...(names.several ? [loader] : []),
    {
      id: "batch",
      label: "Batch",
      width: "52px",
      numeric: true,
      order: (row) => row.batch,
      cell: (row) => <span data-hint={`Begun ${fine(row.start_ns - from)} into the picture`}>{count(row.batch)}</span>,
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
    },
    {
      id: "step",
      label: "Step",
      width: "56px",
      numeric: true,
      order: (row) => row.step,
      cell: (row) => row.step ?? <span data-hint="No recorded step took it.">{DASH}</span>,
    },
    {
      id: "bar",
      label: "",
      cell: (row) => (
        <InlineBar
          segments={[
            { share: row.dataset_ns / longest, colour: "data" },
            { share: row.collate_ns / longest, colour: "cpu" },
          ]}
        />
      ),
    },
    {
      id: "dataset",
      label: "Dataset",
      width: "72px",
      figures: { of: (row) => row.dataset_ns, unit: "ns", siblings: "time" },
    },
    {
      id: "collate",
      label: "Collate",
      width: "68px",
      figures: { of: (row) => row.collate_ns, unit: "ns", siblings: "time" },
    },
    {
      id: "cpu",
      ...columnHead(meanings, "batch_cpu_share"),
      width: "58px",
      numeric: true,
      order: (row) => row.cpu_share,
      cell: (row) => (
        <span data-hint={row.cpu_share === null ? "The batch was not sampled" : undefined}>
          {percent(row.cpu_share)}
        </span>
      ),
    },
    {
      id: "wait",
      ...columnHead(meanings, byReader ? "batch_reader_wait_ns" : "batch_wait_ns"),
      width: "72px",
      figures: { of: (row) => row.wait_ns, unit: "ns" },
    },
  ];
}

function slowestTable(slowest: readonly SlowBatch[], names: LoaderNames, from: number) {
  const times = ["From", "Total", "Dataset", "Collate", "Waited"].map((label) => ({ label, unit: "ns" as const }));
  return {
    columns: [
      { label: "Batch", unit: "count" as const },
      { label: "Loader" },
      { label: "Worker" },
      { label: "Step" },
      ...times,
      { label: "CPU", unit: "fraction" as const },
    ],
    rows: slowest.map((row) => [
      row.batch,
      names.of(row.loader),
      String(row.worker),
      row.step,
      row.start_ns - from,
      row.total_ns,
      row.dataset_ns,
      row.collate_ns,
      row.wait_ns,
      row.cpu_share,
    ]),
  };
}
