/** A step of the job on one clock: requested by step and window, with as many bins as a wide screen has columns. */

import { useMemo, useState } from "preact/hooks";
import { stepInTimeline } from "../../address/selection";
import type { JobRanks, JobTimeline } from "../../api.gen";
import { tableData } from "../../components/data_table";
import { NoPicture, Picture } from "../../components/picture";
import { NotYet } from "../../components/waiting";
import { counted, ns } from "../../format";
import { useRequested } from "../../server/requested";
import { outward, type TimeRange } from "../../time_range";
import { type Tab, titleOf } from "../props";
import { laneLayout, seenAround, WholeStep } from "./charts/lane_plot";
import { Lanes, RankLegend } from "./charts/lanes";
import { bytesOf, type RankPart } from "./rows";

/** The width of the picture on most screens, in columns. */
const BINS = 1200;

export function JobTimelinePicture({ page, job, rows, keysOf, name, tab }: RankPart & { job: JobRanks }) {
  const step = tab.state.step ?? "";
  const [zoom, setZoom] = useState<{ step: string; range: TimeRange } | null>(null);
  const range = zoom?.step === step ? zoom.range : null;
  const { page: found, problem } = useLanes(tab, page.spans[0]!, step, range, `${page.read}`);
  // The first byte is not a cell.
  const lanes = useMemo(() => found && { ...found, cells: bytesOf(found.cells).subarray(1) }, [found]);
  const deciding = useMemo(() => decidingRows(job), [job]);
  if (found === null || lanes === null)
    return tab.source.jobTimeline ? (
      <NoPicture title={titleOf(page, "lanes")}>
        <NotYet
          problem={problem}
          reads="Reading a step of each rank."
          height_px={laneLayout(rows.length, deciding).height}
        />
      </NoPicture>
    ) : null;
  const open = (row: number, at: number) => {
    const rank = rows.find(({ span }) => span === found.spans[row]);
    if (rank === undefined) return;
    const zoom = seenAround(at + found.shift_ns[row]!, range, found.length_ns);
    tab.update({ ...keysOf(rank), ...stepInTimeline(found.step), zoom });
  };
  return (
    <Picture
      title={titleOf(page, "lanes")}
      sub={`step ${found.step}, ${ns(found.length_ns)}`}
      details={titleOf(page, "clocks")}
      name={`job timeline ${name}`}
      table={() => tableOf(found)}
      tools={found.steps.length > 1 && <Steps found={found} choose={(each) => tab.update({ step: each })} />}
    >
      {problem && <NotYet problem={problem} reads="" />}
      <RankLegend comm="transfers">
        <span>
          <svg width="22" height="10" aria-hidden="true">
            <path class="decides" d="M0 5H22" />
          </svg>
          path that decides the step
        </span>
        <WholeStep zoom={range} setZoom={setZoom} />
      </RankLegend>
      <Lanes
        label={`What ${counted(found.ranks.length, "rank")} do in step ${found.step}, on one clock.`}
        found={lanes}
        deciding={deciding}
        zoom={range}
        setZoom={(next) => setZoom(next && { step, range: outward(next) })}
        open={open}
      />
    </Picture>
  );
}

const decidingRows = ({ ranks, path }: JobRanks): number[] =>
  (path?.ranks ?? []).map((late) => ranks.findIndex(({ rank }) => rank === late.rank));

function Steps({ found, choose }: { found: JobTimeline; choose(step: string): void }) {
  return (
    <select
      class="field"
      aria-label="Step of the job timeline"
      value={found.step}
      onChange={({ currentTarget: { value } }) => choose(value)}
    >
      {found.steps.map((each) => (
        <option key={each} value={each}>
          step {each}
        </option>
      ))}
    </select>
  );
}

/** The last answer stays until the next one arrives. */
function useLanes({ source }: Tab, span: string, step: string, visible: TimeRange | null, version: string) {
  const name = source.jobTimeline ? [span, step, visible?.from, visible?.to, version].join("\n") : null;
  return useRequested(source, name, (signal) => source.jobTimeline!(span, { step, visible, bins: BINS }, signal), true);
}

const tableOf = ({ path, ranks }: JobTimeline) =>
  tableData(
    [
      { label: "Rank that decides", of: ({ row }) => `rank ${ranks[row]}` },
      { label: "From", unit: "ns", of: ({ from_ns }) => from_ns },
      { label: "To", unit: "ns", of: ({ to_ns }) => to_ns },
    ],
    path,
  );
