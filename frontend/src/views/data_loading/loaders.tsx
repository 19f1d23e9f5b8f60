import type { EpochStarts, LoaderRow } from "../../api.gen";
import { Details } from "../../components/details";
import { type Column, fileFields } from "../../components/table";
import { count, counted, ns } from "../../format";
import type { Meanings } from "../../meanings";
import type { Tab } from "../props";
import { barColumn, figuresOf, TablePicture } from "../table_picture";

/** The loaders of the loop, separately: which one is waited for. */
export function Loaders({ loaders, tab, name }: { loaders: readonly LoaderRow[]; tab: Tab; name: string }) {
  const longest = Math.max(...loaders.map((row) => row.wait_ns), 1);
  return (
    <TablePicture
      title={`Which of the ${count(loaders.length)} loaders do the steps wait for?`}
      sub="a batch"
      name={`loaders ${name}`}
      label="Loaders"
      columns={columns(longest, tab.meanings)}
      file={fileFields<LoaderRow>({ wait_ns: "Wait", hidden_ns: "Hidden" }, "ns")}
      rows={loaders}
      rowKey={(row) => loaders.indexOf(row)}
      maxRows={6}
      order="loaders"
      tab={tab}
    />
  );
}

function columns(longest: number, meanings: Meanings): Column<LoaderRow>[] {
  return [
    {
      id: "loader",
      label: "Loader",
      order: (row) => row.label,
      cell: (row) => <span data-hint={row.iterator}>{row.label}</span>,
      file: fileFields<LoaderRow>({ label: "Loader", iterator: "Iterator" }),
    },
    { id: "batches", label: "Batches", width: "56px", figures: { of: (row) => row.batches, unit: "count" } },
    barColumn(
      (row) => [
        { share: row.exposed_ns / longest, colour: "data" },
        { share: row.hidden_ns / longest, colour: "data", hatched: true },
      ],
      "72px",
    ),
    {
      id: "exposed",
      label: "Exposed",
      meaning: meanings.metric("data_loading_exposed").meaning,
      width: "68px",
      figures: { of: (row) => row.exposed_ns, unit: "ns" },
    },
    figuresOf<LoaderRow>(meanings)("first", "first_batch_ns", 68, (row) => row.first_batch_ns),
  ];
}

/** For a single loader: the first batches, which the mean leaves out. */
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
      {multiprocess !== false && starts?.respawned !== false && ", with the start of the workers"}.
      <Details text="Figures per batch leave it out." />
    </p>
  );
}
