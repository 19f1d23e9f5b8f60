/**
 * How long each step waits, for which loader, and the texts below: what the waits are for, the first batches of epochs,
 * what receiving a batch takes.
 */

import { sum } from "d3-array";
import type { DataLoadingResult, EpochStarts, LoaderRow, LoaderStep, Overhead } from "../../api.gen";
import { InlineBar } from "../../charts/bars/split_bar";
import type { StopSelection } from "../../charts/pointer/pointing";
import { Swatch } from "../../colour";
import { Details, Remark } from "../../components/sentence";
import { type Column, type Foot, fileFields } from "../../components/table";
import { count, counted, ns, share } from "../../format";
import { largestOf } from "../../lists";
import { columnHead, type Meanings } from "../../meanings";
import { differences } from "../compare/compared_columns";
import type { Compared, Tab, Titles, ViewPart } from "../props";
import { barColumn, figureColumn, figuresOf, TablePicture } from "../table_picture";

/** The loaders of the loop, separately: which one is waited for. */
export function Loaders({ loaders, tab, name }: ViewPart & { loaders: readonly LoaderRow[] }) {
  const longest = largestOf(loaders, (row) => row.wait_ns);
  return (
    <TablePicture
      title={`Which of the ${count(loaders.length)} loaders do the steps wait for?`}
      sub="a batch"
      name={`loaders ${name}`}
      label="Loaders"
      columns={loaderColumns(longest, tab.meanings)}
      file={fileFields<LoaderRow>({ wait_ns: "Wait", hidden_ns: "Hidden" }, "ns")}
      rows={loaders}
      rowKey={(row) => loaders.indexOf(row)}
      maxRows={6}
      order="loaders"
      tab={tab}
    />
  );
}

function loaderColumns(longest: number, meanings: Meanings): Column<LoaderRow>[] {
  return [
    {
      id: "loader",
      label: "Loader",
      order: (row) => row.label,
      hint: (row) => row.iterator,
      file: fileFields<LoaderRow>({ label: "Loader", iterator: "Iterator" }),
    },
    figureColumn("batches", "Batches", 56, "count", (row) => row.batches),
    barColumn(
      (row) => [
        { share: row.exposed_ns / longest, colour: "data" },
        { share: row.hidden_ns / longest, colour: "data", hatched: true },
      ],
      "72px",
    ),
    {
      ...figureColumn("exposed", "Exposed", 68, "ns", (row) => row.exposed_ns),
      meaning: meanings.metric("data_loading_exposed").meaning,
    },
    figuresOf<LoaderRow>(meanings)("first", "first_batch_ns", 68, (row) => row.first_batch_ns),
  ];
}

/** For a single loader: the first batches, which the mean leaves out. */
export function FirstBatch(props: { loader: LoaderRow; starts: EpochStarts | null }) {
  const {
    loader: { first_batches: many, first_batch_ns: first, multiprocess },
    starts,
  } = props;
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

/** How the loader's own share is known; sources that are not listed here are not mentioned. */
const SOURCES: Readonly<Record<string, string>> = {
  recorder: "It is recorded.",
  ready: "It is known from waits for prefetched batches.",
  short: "It is the usual wait, which is short.",
};

/** The cost of receiving a batch that a worker has produced. */
export function Receiving({ overhead, tab }: { overhead: Overhead; tab: Tab }) {
  const { ns: own, exposed_ns: exposed, source: by, why } = overhead;
  if (own === null) return why && <Remark phrase={tab.meanings.explain(why)} />;
  return (
    <p class="quiet small aside">
      Receiving a ready batch takes <b>{ns(own)}</b>.
      <Details
        text={[
          ...(by !== null && by in SOURCES ? [SOURCES[by]] : []),
          ...(exposed === null ? [] : [`With pauses of the CPU it adds ${ns(exposed)} to the mean step.`]),
        ].join(" ")}
      />
    </p>
  );
}

/** The mean step of the span that is compared with, under the table of this one. */
export function OtherWaits({ compared: { name, page } }: { compared: Compared<"data_loading"> }) {
  const { mean } = page.result;
  if (!mean) return <p class="quiet small aside">{name}: its waits are not known.</p>;
  return (
    <p class="quiet small aside">
      {name}: of a step, <b>{ns(mean.exposed_ns)}</b> exposed and <b>{ns(mean.hidden_ns)}</b> hidden.
    </p>
  );
}

/** As a share of the exposed wait: a smaller rest would disappear in rounding. */
const LEAST_REST = 0.02;

/**
 * What the exposed wait of a step is for, where there are several causes: the parts to which the gains of the cards
 * refer.
 */
export function Shares({ result: { causes, mean, multiprocess } }: { result: DataLoadingResult }) {
  if (!causes) return null;
  const { shares, starts } = causes;
  const parts = [
    { label: multiprocess === false ? "batch production" : "late batches", ns: shares.late_ns },
    {
      label: starts ? counted(starts.batches, "start of an epoch", "starts of epochs") : "starts of epochs",
      ns: shares.first_ns,
    },
    { label: "rare long waits", ns: shares.jitter_ns },
    { label: "receiving batches", ns: shares.overhead_ns },
    { label: "other loaders", ns: shares.others_ns },
  ].filter((part) => part.ns > 0);
  if (parts.length < 2) return null;
  const rest = (mean?.exposed_ns ?? 0) - sum(parts, (part) => part.ns);
  return (
    <p class="quiet small aside">
      Exposed a step:{" "}
      {parts.map((part, at) => (
        <>
          {at > 0 && (at === parts.length - 1 ? " and " : ", ")}
          <b>{ns(part.ns)}</b> for {part.label}
        </>
      ))}
      {rest >= LEAST_REST * mean!.exposed_ns && <>; {ns(rest)} are left out of the verdict</>}.
      {starts !== null &&
        starts.setup_ns > 0 &&
        ` New iterators take another ${ns(starts.setup_ns)} before they are asked for a batch.`}
    </p>
  );
}

export interface LoaderPictureProps extends ViewPart {
  result: DataLoadingResult;
  titles: Titles;
  chosen: StopSelection;
  compared?: Compared<"data_loading"> | null;
}

/** The wait of each step: the part that left the device idle, and the part hidden behind its work. */
export function StepTable({ result, titles, chosen, tab, name, compared }: LoaderPictureProps) {
  const { steps, mean } = result;
  const longest = largestOf(steps, (step) => step.wait_ns);
  return (
    <TablePicture
      title={titles.steps!}
      name={`waits ${name}`}
      label="Wait for the loader in each step"
      columns={[...stepColumns(longest, tab.meanings), ...difference(steps, compared)]}
      file={fileFields<LoaderStep>({ duration_ns: "Step time" }, "ns")}
      rows={steps}
      rowKey={(step) => step.name}
      mark={["waits", (step) => step.name]}
      maxRows={12}
      order="sort"
      tab={tab}
      chosen={chosen.hovered ?? chosen.selected ?? undefined}
      onChoose={(step) => chosen.select(step.name)}
      onHover={(step) => chosen.hover(step?.name ?? null)}
      foot={mean && meanRow(mean)}
    />
  );
}

/** Matches steps by name: in runs with the same schedule these are the same batches. */
const difference = (rows: readonly LoaderStep[], compared: Compared<"data_loading"> | null | undefined) =>
  differences(compared, compared?.page.result.steps, {
    rows,
    keyOf: (step) => step.name,
    ns: (step) => step.exposed_ns,
    per: "exposed, in the step of this name",
  });

function stepColumns(longest: number, meanings: Meanings): Column<LoaderStep>[] {
  const figure = (id: string, label: string, width_px: number, of: (step: LoaderStep) => number) => ({
    ...figureColumn(id, label, width_px, "ns", of, { siblings: "time" }),
    meaning: meanings.metric(`data_loading_${id}`).meaning,
  });
  return [
    { id: "step", label: "Step", width: "44px", order: (step) => step.name },
    {
      id: "wait",
      label: "Wait",
      cell: (step) => <InlineBar segments={waitSegments(step, longest)} />,
      order: (step) => step.wait_ns,
      file: fileFields<LoaderStep>({ wait_ns: "Wait" }, "ns"),
    },
    figure("exposed", "Exposed", 64, (step) => step.exposed_ns),
    {
      ...figure("hidden", "Hidden", 60, (step) => step.hidden_ns),
      cell: (_, written) => <span class="quiet">{written}</span>,
    },
    {
      id: "share",
      ...columnHead(meanings, "wait_share"),
      width: "52px",
      numeric: true,
      cell: (step) => share(exposedShare(step)),
      order: exposedShare,
      file: [],
    },
  ];
}

const waitSegments = (step: LoaderStep, longest: number) => [
  { share: step.exposed_ns / longest, colour: "data" },
  { share: step.hidden_ns / longest, colour: "data", hatched: true },
];

const exposedShare = (step: LoaderStep): number | null =>
  step.duration_ns ? step.exposed_ns / step.duration_ns : null;

const meanRow = (mean: LoaderStep): Foot => ({
  name: "Mean",
  cells: {
    wait: (
      <>
        <span class="key">
          <Swatch colour="data" />
          exposed
        </span>
        <span class="key">
          <Swatch colour="data" hatched />
          hidden
        </span>
      </>
    ),
    exposed: mean.exposed_ns,
    hidden: mean.hidden_ns,
    share: share(exposedShare(mean)),
  },
});
