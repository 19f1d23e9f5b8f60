import type { DataLoadingResult, LoaderStep } from "../../api.gen";
import { InlineBar } from "../../charts/bars/split_bar";
import type { StopSelection } from "../../charts/pointer/pointing";
import { Swatch } from "../../colour";
import { type Column, type Foot, fileFields } from "../../components/table";
import { share } from "../../format";
import { columnHead, type Meanings } from "../../meanings";
import { differenceColumn } from "../compare/compared_columns";
import type { Compared, Titles, ViewPart } from "../props";
import { TablePicture } from "../table_picture";

export interface LoaderPictureProps extends ViewPart {
  result: DataLoadingResult;
  titles: Titles;
  chosen: StopSelection;
  compared?: Compared<"data_loading"> | null;
}

/** The number of rows from which the table scrolls. */
const MOST = 12;

/** The wait of each step: the part that left the device idle, and the part hidden behind its work. */
export function StepTable({ result, titles, chosen, tab, name, compared }: LoaderPictureProps) {
  const { steps, mean } = result;
  const longest = Math.max(...steps.map((step) => step.wait_ns), 1);
  return (
    <TablePicture
      title={titles.steps!}
      name={`waits ${name}`}
      label="Wait for the loader in each step"
      columns={[...columns(longest, tab.meanings), ...(compared ? [difference(steps, compared)] : [])]}
      file={fileFields<LoaderStep>({ duration_ns: "Step time" }, "ns")}
      rows={steps}
      rowKey={(step) => step.name}
      mark={["waits", (step) => step.name]}
      maxRows={MOST}
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
const difference = (rows: readonly LoaderStep[], compared: Compared<"data_loading">) =>
  differenceColumn<LoaderStep>({
    ...compared,
    rows,
    others: compared.page.result.steps,
    keyOf: (step) => step.name,
    ns: (step) => step.exposed_ns,
    per: "exposed, in the step of this name",
  });

function columns(longest: number, meanings: Meanings): Column<LoaderStep>[] {
  const figure = (
    id: string,
    label: string,
    width: string,
    value: (step: LoaderStep) => number,
  ): Column<LoaderStep> => ({
    id,
    label,
    meaning: meanings.metric(`data_loading_${id}`).meaning,
    width,
    figures: { of: value, unit: "ns", siblings: "time" },
  });
  return [
    { id: "step", label: "Step", width: "44px", cell: (step) => step.name, order: (step) => step.name },
    {
      id: "wait",
      label: "Wait",
      cell: (step) => <InlineBar segments={waitSegments(step, longest)} />,
      order: (step) => step.wait_ns,
      file: fileFields<LoaderStep>({ wait_ns: "Wait" }, "ns"),
    },
    figure("exposed", "Exposed", "64px", (step) => step.exposed_ns),
    {
      ...figure("hidden", "Hidden", "60px", (step) => step.hidden_ns),
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
