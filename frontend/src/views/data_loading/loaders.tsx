import type { EpochStarts, LoaderRow } from "../../api.gen";
import { InlineBar } from "../../charts/bars/split_bar";
import { Picture } from "../../components/picture";
import { type Column, Table } from "../../components/table";
import { count, counted, ns } from "../../format";
import { columnHead, type Meanings } from "../../meanings";
import { sorting } from "../choices";
import type { Tab } from "../props";

/** The loaders of the loop, distinguished: which one is waited for. */
export function Loaders({ loaders, tab, name }: { loaders: readonly LoaderRow[]; tab: Tab; name: string }) {
  const longest = Math.max(...loaders.map((row) => row.wait_ns), 1);
  return (
    <Picture
      title={`Which of the ${count(loaders.length)} loaders do the steps wait for?`}
      sub="a batch"
      name={`loaders ${name}`}
      drawn={false}
      table={() => loadersTable(loaders)}
      link={() => tab.address()}
    >
      <Table
        label="Loaders"
        columns={columns(longest, tab.meanings)}
        rows={loaders}
        rowKey={(row) => loaders.indexOf(row)}
        {...sorting(tab, "loaders")}
        maxRows={6}
      />
    </Picture>
  );
}

function columns(longest: number, meanings: Meanings): Column<LoaderRow>[] {
  return [
    {
      id: "loader",
      label: "Loader",
      order: (row) => row.label,
      cell: (row) => <span data-hint={row.iterator}>{row.label}</span>,
    },
    {
      id: "batches",
      label: "Batches",
      width: "56px",
      figures: { of: (row) => row.batches, unit: "count" },
    },
    {
      id: "bar",
      label: "",
      width: "72px",
      cell: (row) => (
        <InlineBar
          segments={[
            { share: row.exposed_ns / longest, colour: "data" },
            { share: row.hidden_ns / longest, colour: "data", hatched: true },
          ]}
        />
      ),
    },
    {
      id: "exposed",
      label: "Exposed",
      meaning: meanings.metric("data_loading_exposed").meaning,
      width: "68px",
      figures: { of: (row) => row.exposed_ns, unit: "ns" },
    },
    {
      id: "first",
      ...columnHead(meanings, "first_batch_ns"),
      width: "68px",
      figures: { of: (row) => row.first_batch_ns, unit: "ns" },
    },
  ];
}

function loadersTable(loaders: readonly LoaderRow[]) {
  const times = ["Wait", "Exposed", "Hidden", "First batch of an epoch"].map((label) => ({
    label,
    unit: "ns" as const,
  }));
  return {
    columns: [{ label: "Loader" }, { label: "Iterator" }, { label: "Batches", unit: "count" as const }, ...times],
    rows: loaders.map((row) => [
      row.label,
      row.iterator,
      row.batches,
      row.wait_ns,
      row.exposed_ns,
      row.hidden_ns,
      row.first_batch_ns,
    ]),
  };
}

/** Of a lone loader: what the mean leaves out. */
export function FirstBatch({
  loader: { first_batches: many, first_batch_ns: first, multiprocess },
  starts,
}: {
  loader: LoaderRow;
  starts: EpochStarts | null;
}) {
  if (first === null || many === 0) return null;
  return (
    <p class="quiet small aside">
      {many === 1
        ? "The first batch of an epoch takes"
        : `${counted(many, "first batch", "first batches")} of epochs take`}{" "}
      <b>{ns(first)}</b>
      {many === 1 ? "" : " each"}
      {multiprocess !== false && starts?.respawned !== false && ", with the start of the workers"}: not part of the
      figures per batch.
    </p>
  );
}
