import type { Lane, LaneWindow } from "../../api.gen";
import { TimeAxis } from "../../charts/axes";
import { indexOf, type StopSelection } from "../../charts/pointer/pointing";
import { StopsPicture } from "../../charts/pointer/stops_picture";
import { StepRings } from "../../charts/time/zoomed_picture";
import { colourOf, svgFill } from "../../colour";
import type { TableData } from "../../components/data_table";
import { Picture } from "../../components/picture";
import { sized } from "../../dom/size";
import { textWidth } from "../../dom/text_width";
import { ns, type Scale, scaleFor } from "../../format";
import { closed, sentence } from "../../phrase";
import { type TimeRange, timeScale } from "../../time_range";
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

interface ChartLane {
  key: string;
  name: string;
  /** The meaning, as a colour name; its second sense is hatched. */
  colour: string;
  /** Disjoint intervals, in ns. */
  segments: readonly { from: number; to: number; hatched: boolean }[];
}

interface LaneMark extends TimeRange {
  key: string;
  text: string;
}

interface LanesProps extends StopSelection, TimeRange {
  label: string;
  lanes: readonly ChartLane[];
  /** The steps: a line at the start of each, with its name next to it. */
  steps: readonly LaneMark[];
  /** Named ranges below the lanes. */
  brackets: readonly LaneMark[];
  scale: Scale;
}

const GUTTER = 92;
const TOP = 26;
const LANE = 32;
const THICK = 20;

/** Segments thinner than this are not drawn. */
const LEAST_PX = 0.3;

/**
 * What happened at the same time, one lane each: intervals, step marks above, and brackets below that mark what counts.
 */
const Lanes = sized<LanesProps>(Plot, ({ lanes }) => height(lanes.length) + 22);

const height = (lanes: number): number => TOP + LANE * lanes + 22;

function Plot(props: LanesProps & { width: number }) {
  const { from, to, lanes, width, steps } = props;
  const time = timeScale({ from, to }, GUTTER, width);
  const { x, ns: nsAt } = time;
  const foot = TOP + LANE * (lanes.length - 1) + THICK + 4;
  const keyAt = (step: number | null) => (step === null ? null : (steps[step]?.key ?? null));
  const chosen = indexOf(steps, ({ key }) => key === (props.hovered ?? props.selected));
  return (
    <>
      <StopsPicture
        class="chart lanes"
        label={props.label}
        width={width}
        height={height(lanes.length)}
        at={chosen}
        count={steps.length}
        content={chosen === null ? null : { title: steps[chosen]!.text, rows: [] }}
        stopAt={(px) => indexOf(steps, (step) => nsAt(px) >= step.from && nsAt(px) < step.to)}
        hover={(step) => props.hover(keyAt(step))}
        select={(step) => props.select(keyAt(step))}
      >
        {lanes.map((lane, row) => (
          <LaneRow key={lane.key} lane={lane} top={TOP + LANE * row} x={x} width={width} />
        ))}
        {steps.map((step) => (
          <StepMark key={step.key} step={step} x={x} foot={foot} />
        ))}
        <StepRings
          {...{ steps, time, visible: { from, to } }}
          hovered={props.hovered}
          selected={props.selected}
          top={TOP - 6}
          height={foot - TOP + 6}
        />
        <line class="tick" x1={x(to)} x2={x(to)} y1="4" y2={foot} />
        {props.brackets.map((bracket) => (
          <Bracket key={bracket.key} bracket={bracket} x={x} top={foot + 2} width={width} />
        ))}
      </StopsPicture>
      <TimeAxis from={0} to={to - from} left={GUTTER} width={width} scale={props.scale} />
    </>
  );
}

type X = (ns: number) => number;

function LaneRow({ lane, top, x, width }: { lane: ChartLane; top: number; x: X; width: number }) {
  const drawn = lane.segments.filter((segment) => x(segment.to) - x(segment.from) >= LEAST_PX);
  const hatched = rects(
    drawn.filter((segment) => segment.hatched),
    top,
    x,
  );
  return (
    <g class={`of-${colourOf(lane.colour)}`}>
      <text class="small" x="0" y={top + 14}>
        {lane.name}
      </text>
      <rect class="empty" x={GUTTER} y={top} width={width - GUTTER} height={THICK} />
      {hatched && <path class="cover" d={hatched} />}
      {hatched && <path d={hatched} style={{ fill: svgFill(lane.colour, true) }} />}
      <path
        class="mark"
        d={rects(
          drawn.filter((segment) => !segment.hatched),
          top,
          x,
        )}
      />
    </g>
  );
}

function rects(segments: ChartLane["segments"], top: number, x: X): string {
  return segments
    .map(
      ({ from, to }) =>
        `M${x(from).toFixed(1)} ${top}h${Math.max(0.5, x(to) - x(from)).toFixed(1)}v${THICK}H${x(from).toFixed(1)}z`,
    )
    .join("");
}

/**
 * The label of a step: without its length where that would reach into the next step, and left out where even the name
 * would.
 */
function StepMark({ step, x, foot }: { step: LaneMark; x: X; foot: number }) {
  const room = x(step.to) - x(step.from) - 5;
  const text = [step.text, step.text.split(",")[0]!].find((each) => textWidth(each) <= room);
  return (
    <>
      <line class="tick" x1={x(step.from)} x2={x(step.from)} y1="4" y2={foot} />
      {text && (
        <text class="second" x={x(step.from) + 5} y="14">
          {text}
        </text>
      )}
    </>
  );
}

function Bracket({ bracket, x, top, width }: { bracket: LaneMark; x: X; top: number; width: number }) {
  const [left, right] = [x(bracket.from), x(bracket.to)];
  const half = textWidth(bracket.text) / 2; // keeps the label inside the picture
  return (
    <>
      <path class="tick" fill="none" d={`M${left} ${top}v4H${right}v-4`} />
      <text class="second mid" x={Math.max(GUTTER + half, Math.min(width - half, (left + right) / 2))} y={top + 17}>
        {bracket.text}
      </text>
    </>
  );
}
