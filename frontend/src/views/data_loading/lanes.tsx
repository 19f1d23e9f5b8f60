import type { Lane, LaneWindow } from "../../api.gen";
import type { TableData } from "../../components/data_table";
import { Picture } from "../../components/picture";
import { ns, scaleFor } from "../../format";
import { closed, sentence } from "../../phrase";
import { type ChartLane, type LaneMark, Lanes } from "./charts/lanes";
import type { LoaderPictureProps } from "./waits";

export function LoaderLanes(props: LoaderPictureProps & { lanes: LaneWindow }) {
  const { result, titles, lanes: shown, chosen, name } = props;
  const steps = stepMarks(shown, result.steps);
  const title = titles.lanes ?? { template: "When does a step wait?", values: {} };
  const lengths = new Map(result.steps.map((step) => [step.name, step]));
  const figures = shown.steps.map(
    (step) =>
      `step ${step} waits ${ns(lengths.get(step)?.wait_ns ?? null)}, ` +
      `${ns(lengths.get(step)?.exposed_ns ?? null)} of it exposed`,
  );
  return (
    <Picture
      title={title}
      sub={`steps ${shown.steps.join(" and ")}`}
      name={`lanes ${name}`}
      table={() => lanesTable(shown)}
    >
      <Lanes
        label={
          `${closed(sentence(title))} In lanes for ` +
          `${shown.lanes.map((lane) => lane.label).join(", ")}: ${figures.join("; ")}.`
        }
        from={shown.start_ns}
        to={shown.end_ns}
        lanes={shown.lanes.map(chartLane)}
        steps={steps}
        brackets={brackets(shown, steps, result.steps)}
        scale={scaleFor(shown.end_ns - shown.start_ns, "ns")}
        {...chosen}
      />
    </Picture>
  );
}

/** The meanings of the lanes that the server names. */
const COLOURS: Readonly<Record<string, string>> = { loader: "data", cpu: "cpu", gpu: "kernel" };

function chartLane(lane: Lane): ChartLane {
  const segments = lane.start_ns.map((from, at) => ({ from, to: lane.end_ns[at]!, hatched: lane.hatched[at]! }));
  return { key: lane.id, name: lane.label, colour: COLOURS[lane.id] ?? "other", segments };
}

type Steps = LoaderPictureProps["result"]["steps"];

function stepMarks(shown: LaneWindow, steps: Steps): LaneMark[] {
  return shown.steps.map((key, at) => {
    const duration = steps.find((step) => step.name === key)?.duration_ns ?? null;
    return {
      key,
      from: shown.marks_ns[at]!,
      to: shown.marks_ns[at + 1] ?? shown.end_ns,
      text: `step ${key}, ${ns(duration)}`,
    };
  });
}

/** The step's exposed wait, below its longest range. */
function brackets(shown: LaneWindow, marks: readonly LaneMark[], steps: Steps): LaneMark[] {
  const loader = shown.lanes.find((lane) => lane.id === "loader");
  const exposed = loader ? chartLane(loader).segments.filter((segment) => !segment.hatched) : [];
  return marks.flatMap((mark) => {
    const within = exposed.filter((segment) => segment.from >= mark.from && segment.from < mark.to);
    const longest = within.reduce<(typeof within)[number] | null>(
      (best, segment) => (best && best.to - best.from >= segment.to - segment.from ? best : segment),
      null,
    );
    const step = steps.find((each) => each.name === mark.key);
    return longest && step ? [{ ...mark, ...longest, text: `exposed ${ns(step.exposed_ns)}` }] : [];
  });
}

function lanesTable(shown: LaneWindow): TableData {
  const rows = shown.lanes.flatMap((lane) =>
    chartLane(lane).segments.map((segment) => [
      lane.label,
      segment.from,
      segment.to,
      lane.id !== "loader" ? null : segment.hatched ? "hidden" : "exposed",
    ]),
  );
  return {
    columns: [{ label: "Lane" }, { label: "From", unit: "ns" }, { label: "To", unit: "ns" }, { label: "Wait" }],
    rows,
  };
}
