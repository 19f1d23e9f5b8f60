import type { WorkerCurve } from "../../api.gen";
import { Picture } from "../../components/picture";
import { Remark } from "../../components/sentence";
import { counted, ns, rough, scaleFor } from "../../format";
import { sentence } from "../../phrase";
import type { Compared, Titles, ViewPart } from "../props";
import { WorkerCurveChart } from "./charts/worker_curve";
import type { CurveMark } from "./charts/worker_curve_layout";

const HEIGHT = 206;

interface CurveProps extends ViewPart {
  titles: Titles;
  curve: WorkerCurve;
  compared: Compared<"data_loading"> | null;
}

/** How long the step takes by number of workers: measured at the current number, predicted at others. */
export function WorkerCurvePicture({ titles, curve, compared, tab, name }: CurveProps) {
  const {
    points,
    measured_workers: workers,
    measured_step_ns: now_ns,
    recommended,
    floor_ns,
    gain_ns,
    cores,
    limits,
  } = curve;
  const [title, pace, epochs] = [titles.curve!, titles.curve_pace!, titles.curve_epochs];
  const others = comparedMark(compared);
  const scale = scaleFor(
    Math.max(now_ns, ...points.map((point) => point.step_ns), ...others.map((other) => other.ns)),
    "ns",
  );
  const saves = workers < recommended && gain_ns > 0; // fewer workers are as good, and save no time
  return (
    <Picture
      title={title}
      details={limits.map((limit) => sentence(tab.meanings.explain(limit))).join(" ")}
      name={`workers ${name}`}
      table={() => curveTable(curve)}
    >
      <WorkerCurveChart
        label={
          `${sentence(title)}. Step time against number of workers: measured ` +
          `${scale.text(now_ns)} with ${workers}; ` +
          `recommended: ${counted(recommended, "worker")}, about ${rough(floor_ns)}` +
          `${saves ? `, which saves up to ${ns(gain_ns)} a step` : ""}.`
        }
        height={HEIGHT}
        points={points}
        axis="num_workers"
        scale={scale}
        others={others}
        measured={{ workers, ns: now_ns, text: `${ns(now_ns)} now` }}
        recommended={{ workers: recommended, ns: floor_ns, text: "recommended" }}
        gain={{ ns: saves ? gain_ns : 0, text: `up to ${ns(gain_ns)}` }}
        loader={`loader: ${sentence(pace)}`}
        cores={cores === null ? null : { workers: cores, text: counted(cores, "core") }}
        tip={(at) => tipOf(curve, others, at)}
      />
      {compared && <ComparedNote compared={compared} mark={others[0] ?? null} />}
      <Remark phrase={epochs} />
    </Picture>
  );
}

/** The point of the other span, as the picture draws it. */
const Hollow = () => (
  <svg class="plot sample" width="10" height="10" aria-hidden="true">
    <circle class="hollow" cx="5" cy="5" r="4" />
  </svg>
);

/**
 * Describes the other span in words: a label next to its point would often find no room, and without a known number of
 * workers it has no point.
 */
function ComparedNote(props: { compared: Compared<"data_loading">; mark: CurveMark | null }) {
  const {
    compared: { name, page },
    mark,
  } = props;
  const { mean } = page.result;
  if (mark)
    return (
      <p class="quiet small aside">
        <span class="key">
          <Hollow />
          <span>
            {name} measured {ns(mark.ns)} with {counted(mark.workers, "worker")}.
          </span>
        </span>
      </p>
    );
  return (
    mean && (
      <p class="quiet small aside">
        {name} measured {ns(mean.duration_ns)}; its trace does not show the number of workers.
      </p>
    )
  );
}

/** The point of another span of the same training, with its own number of workers, where that is known. */
function comparedMark(compared: Compared<"data_loading"> | null): CurveMark[] {
  if (!compared) return [];
  const { curve, burst, mean, multiprocess } = compared.page.result;
  const workers = curve?.measured_workers ?? burst?.workers ?? (multiprocess === false ? 0 : null);
  const step_ns = curve?.measured_step_ns ?? mean?.duration_ns ?? null;
  return workers === null || step_ns === null
    ? []
    : [{ workers, ns: step_ns, text: `${compared.name} measured ${ns(step_ns)}` }];
}

function tipOf(
  { points, measured_workers: workers, measured_step_ns: now_ns }: WorkerCurve,
  others: readonly CurveMark[],
  at: number,
) {
  const point = points.find((each) => each.workers === at);
  return {
    title: at === 0 ? "No worker processes" : counted(at, "worker"),
    rows: [
      ...(point
        ? [
            { name: "Step, predicted", value: `about ${rough(point.step_ns)}` },
            { name: "Loader alone", value: rough(point.loader_ns) },
          ]
        : []),
      ...(at === workers ? [{ name: "Measured now", value: ns(now_ns) }] : []),
      ...others.filter((other) => other.workers === at).map((other) => ({ name: "Compared with", value: other.text })),
    ],
  };
}

function curveTable({ points, measured_workers: workers, measured_step_ns: now_ns }: WorkerCurve) {
  const columns = ["Step, predicted", "Loader alone", "Step, measured"].map((label) => ({
    label,
    unit: "ns" as const,
  }));
  const nobody = workers < (points[0]?.workers ?? 0) ? [[workers, null, null, now_ns]] : [];
  return {
    columns: [{ label: "Workers", unit: "count" as const }, ...columns],
    rows: [
      ...nobody,
      ...points.map((point) => [
        point.workers,
        point.step_ns,
        point.loader_ns,
        point.workers === workers ? now_ns : null,
      ]),
    ],
  };
}
