import { renderToString } from "preact-render-to-string";
import { describe, expect, test } from "vitest";
import { SplitBar } from "../src/charts/bars/split_bar";
import { Plot } from "../src/charts/lines/line_chart";
import { scaleFor } from "../src/format";
import { DataLoading } from "../src/views/data_loading/data_loading";
import { TensorCores } from "../src/views/tensor_cores/tensor_cores";
import { axisOver } from "../src/views/trends/axis";
import { bandOf, runsOf, stepValue } from "../src/views/trends/runs";
import { Trends } from "../src/views/trends/trends";
import { coresPage, DEVICE, loaderPage, noLoaderPage, tab, trendSpan, trendsPage } from "./fixtures/figures";
import { because } from "./fixtures/pages";
import { detailsOf, hintsOf, words } from "./fixtures/words";

const SPANS = [
  trendSpan({ run: "a", number: 1, first: 5, ms: [100, 110] }),
  trendSpan({ run: "a", number: 2, first: 16, ms: [100, 120] }),
  trendSpan({ run: "b", number: 1, first: 5, ms: [90, 200], slow: ["6"] }),
  trendSpan({ run: "b", number: 2, first: 17, ms: [90, 95], utilization: [null, 0.7] }),
];
const RUNS = runsOf(trendsPage(SPANS));

describe("the axis of Trends", () => {
  test("over steps has a segment for each span, a stop for each step of any run, a break where a run lacks it", () => {
    const axis = axisOver("steps", RUNS);
    expect(axis.stops.map(({ key, segment, at }) => [key, segment, at])).toEqual([
      ["1/5", 0, 0],
      ["1/6", 0, 1],
      ["2/16", 1, 0],
      ["2/17", 1, 1],
      ["2/18", 1, 2],
    ]);
    expect(axis.segments.map(({ caption, from, to }) => [caption, from, to])).toEqual([
      ["span 1, step", 0, 1],
      ["span 2, step", 0, 2],
    ]);
    expect(axis.pointsOf(RUNS[1]!).map(({ aggregate }) => aggregate?.key ?? null)).toEqual([
      "1/5",
      "1/6",
      null,
      "2/17",
      "2/18",
    ]);
  });

  test("over spans has one stop a span", () => {
    const axis = axisOver("spans", RUNS);
    expect(axis.stops.map(({ key }) => key)).toEqual(["1/", "2/"]);
    expect(axis.pointsOf(RUNS[0]!).map(({ aggregate }) => stepValue(aggregate!, "step_time").value)).toEqual([
      105e6, 110e6,
    ]);
  });

  test("over time breaks where nothing was recorded, and a run's points keep their order", () => {
    const axis = axisOver("time", RUNS);
    expect(axis.segments).toHaveLength(2);
    expect(axis.segments[1]!.from - axis.segments[0]!.from).toBeCloseTo(60e9, -6);
    expect(axis.pointsOf(RUNS[0]!).map(({ stop, aggregate }) => [axis.stops[stop]!.key, aggregate !== null])).toEqual([
      ["1/5", true],
      ["1/6", true],
      ["1/6", false],
      ["2/16", true],
      ["2/17", true],
    ]);
  });
});

test("a run of several processes has their mean and range; one process has no range", () => {
  const [both] = runsOf(
    trendsPage([
      trendSpan({ run: "a", number: 1, first: 5, ms: [100] }),
      trendSpan({ run: "a", number: 1, first: 5, ms: [140], worker: "w1", utilization: [null] }),
    ]),
  );
  expect(both!.workers).toBe(2);
  expect(stepValue(both!.steps[0]!, "step_time")).toEqual({ value: 120e6, low: 100e6, high: 140e6 });
  expect(stepValue(both!.steps[0]!, "gpu_utilization")).toEqual({ value: 0.5, low: null, high: null });
  expect(stepValue(both!.steps[0]!, "data_loading_exposed").value).toBeNull();
});

test("spans that are not read are no lines", () => {
  expect(runsOf(trendsPage([{ ...SPANS[0]!, result: null, state: "unread" }]))).toEqual([]);
});

test("the median lies between the two in the middle, and nothing has none", () => {
  expect([bandOf([3, 1]), bandOf([4, 1, 3]), bandOf([])].map((band) => band?.median)).toEqual([2, 3, undefined]);
});

describe("a line chart", () => {
  const axis = axisOver("steps", RUNS);
  const line = (values: (number | null)[]) => ({
    key: "a",
    name: "a",
    focus: true,
    points: values.map((value, stop) => ({ stop, value, slow: stop === 1 })),
  });
  const draw = (values: (number | null)[]) =>
    renderToString(
      <Plot
        label="Step time."
        width={600}
        height={200}
        segments={axis.segments}
        stops={axis.stops}
        pad={axis.pad}
        lines={[line(values)]}
        scale={scaleFor(100e6, "ns")}
        colour="ink"
        hovered={null}
        selected="1/6"
        hover={() => {}}
        select={() => {}}
        tip={() => ({ title: "", rows: [] })}
      />,
    );
  const path = (html: string) => /<path class="line[^"]*" d="([^"]*)"/.exec(html)![1]!;

  test("breaks between spans and at a missing value", () => {
    expect(path(draw([90e6, 92e6, 91e6, 95e6, 99e6])).match(/M/g)).toHaveLength(2);
    expect(path(draw([90e6, 92e6, 91e6, null, 99e6])).match(/M/g)).toHaveLength(3);
  });

  test("is an image with a sentence, reached by keyboard, with the unit on the top tick only", () => {
    const html = draw([90e6, 92e6, 91e6, 95e6, 99e6]);
    expect(html).toContain('role="slider" tabindex="0" aria-label="Step time."');
    expect(html.match(/\u00a0ms/g)).toHaveLength(1);
    expect(html.match(/class="ring"/g)).toHaveLength(1);
    expect(html.match(/class="hovered selected"/g)).toHaveLength(1);
  });
});

describe("Trends", () => {
  const page = words(<Trends page={trendsPage(SPANS)} tab={tab()} />);

  test("offers metrics, runs and what to draw over", () => {
    expect(page).toContain(
      "|Metric|Step time|GPU utilization|Est. SM efficiency|Exposed data loading|All 8…|Runs|all " +
        "2…|Over|Steps|Spans|Wall time|",
    );
  });

  test("lists the slow steps of the run in focus, and says which line is which", () => {
    expect(page).toContain("|b, in focus|a|One slow step| |Step|Time|What grew|6|200.0 ms|Data loading +80.0 ms|");
    expect(detailsOf(<Trends page={trendsPage(SPANS)} tab={tab()} />)).toContain("Slow: far from the median.");
  });

  test("a chosen run is in focus", () => {
    expect(words(<Trends page={trendsPage(SPANS)} tab={tab({ run: "a" })} />)).toContain("|a, in focus|b|");
  });

  test("what no span measures is a line with the reason in its hint, not an empty picture", () => {
    expect(page).toContain("|Exposed data loading|not known| |");
    const all = hintsOf(<Trends page={trendsPage(SPANS)} tab={tab()} />);
    expect(all).toContain("The trace has no loader events.");
  });

  test("only the runs that the address names are drawn", () => {
    const one = words(<Trends page={trendsPage(SPANS)} tab={tab({ runs: ["a"] })} />);
    expect(one).toContain("|1 of 2…|");
    expect(one).not.toContain("in focus");
  });
});

describe("Data loading", () => {
  test("shows the wait of each step with its mean, and what the loader does", () => {
    const page = words(<DataLoading page={loaderPage()} tab={tab()} compared={null} />);
    expect(page).toContain(
      "|Step|Wait|Exposed|Hidden|Share|5|60.0 ms|10.0 ms|38 %|6|40.0 ms|0 ms|29 %|Mean|exposed|" +
        "hidden|50.0 ms|5.0 ms|33 %|",
    );
    expect(page).toContain("|Activity|A batch|Python, no op|40.0 ms|aten::to|10.0 ms|4 more|5.0 ms|");
    const html = renderToString(<DataLoading page={loaderPage()} tab={tab()} compared={null} />);
    expect(html).toMatch(/data-hint="What Exposed data loading means\."[^>]*>(?:(?!<th).)*Exposed/);
    expect(html).toMatch(/data-hint="What Hidden data loading means\."[^>]*>(?:(?!<th).)*Hidden/);
  });

  test("without loader events says so in place of the pictures", () => {
    const page = words(<DataLoading page={noLoaderPage()} tab={tab()} compared={null} />);
    expect(page).toMatch(/^\|Record a DataLoader that another thread reads\|/); // the headline says that there are none
  });
});

describe("Tensor cores", () => {
  test("splits kernel time in four, a step, with bounds and the other tab's figure", () => {
    const page = words(<TensorCores page={coresPage()} tab={tab()} compared={null} />);
    expect(page).toContain("|Half runs on tensor cores|100.0 ms of kernel time a step|");
    expect(page).toContain(
      "|Tensor cores|50.0 ms|50.0 %|Matmul-like, no tensor cores|20.0 ms|20.0 %|Unknown|10.0 ms|" +
        "10.0 %|Other kernels|20.0 ms|20.0 %|",
    );
    expect(page).toMatch(/\|On tensor cores\|50\.0 to 60\.0 %\|\s*\|PyTorch Profiler tab\|30\.0 %\|/);
    expect(renderToString(<TensorCores page={coresPage()} tab={tab()} compared={null} />)).toContain(
      'data-hint="It does not know all names."',
    );
    const alike = { ...DEVICE, share_high: DEVICE.share_low, profiler_tab_why: null };
    const known = words(<TensorCores page={coresPage([alike])} tab={tab()} compared={null} />);
    expect(known).not.toMatch(/On tensor cores|PyTorch Profiler tab/); // the legend has the figure
  });

  test("a part's button hides it from the bar and its kernels from the table", () => {
    const html = renderToString(
      <SplitBar
        label=""
        parts={[
          { id: "x", colour: "kernel", hatched: true, share: 0.5, title: "" },
          { id: "y", colour: "other", hatched: false, share: 0, title: "" },
        ]}
        off={new Set(["x"])}
      />,
    );
    expect(html).toBe(
      '<div class="split-bar" role="img" aria-label><i class="gone" style="flex-grow:0.5;" data-hint></i></div>',
    );
  });

  test("several devices can be chosen between, each with its own titles", () => {
    const page = words(
      <TensorCores page={coresPage([DEVICE, { ...DEVICE, device: 3 }])} tab={tab({ device: 3 })} compared={null} />,
    );
    expect(page).toContain("|Device|GPU 0|GPU 3|");
    expect(page).toContain("|A third runs on tensor cores|");
    expect(page).not.toContain("Half runs on tensor cores");
  });

  test("without a device leaves the reason to the headline", () => {
    expect(words(<TensorCores page={coresPage([], because("no_gpu_activity"))} tab={tab()} compared={null} />)).toBe(
      "|",
    );
  });
});
