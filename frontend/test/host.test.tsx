import type { VNode } from "preact";
import { renderToString } from "preact-render-to-string";
import { describe, expect, test } from "vitest";
import { areaPath, carried, peakPath } from "../src/charts/time/queue_paths";
import { binsPerPixel, maxOf, meanOf } from "../src/charts/time/time_bins";
import type { PageOf } from "../src/api.gen";
import { Host } from "../src/views/host";
import { blockingKey, madeBy, matching } from "../src/views/host/blocking";
import { hiddenReasons, idleOf, withToggled } from "../src/views/host/idle";
import { linesOf, openAtFirst } from "../src/views/host/range_tree";
import { barsOfPhases, barsOfSteps } from "../src/views/host/reasons";
import { shownStep } from "../src/views/choices";
import { verdictsDiffer } from "../src/views/host/sites";
import { timelineKeys } from "../src/views/choices";
import { BLOCKING, MS, RESULT, TITLES, hostPage, hostTab, idle, range, step } from "./fixtures/host";
import { because, plain } from "./fixtures/pages";

const words = (drawn: VNode): string =>
  renderToString(drawn)
    .replace(/<svg.*?<\/svg>/gs, "")
    .replace(/<[^>]+>/g, "|")
    .replace(/\|+/g, "|")
    .replaceAll(/[\u00a0\u202f]/g, " ")
    .replaceAll("&lt;", "<")
    .replaceAll("&#39;", "'");

const draw = (result = RESULT, state = {}, titles = TITLES as PageOf<"host">["titles"]): string =>
  words(<Host page={hostPage(result, titles)} tab={hostTab(state)} compared={null} />);

describe("the Host view", () => {
  const page = draw();

  test("divides the mean step into work and waits, and names each wait", () => {
    expect(page).toContain(
      "|GPU works |52.5 ms|, 24 %|GPU waits |169.9 ms|, 76 %|Mean step|222.4 ms|forward|backward|",
    );
    expect(page).toContain(
      "|Kernel|38.7 ms|17.4 %|Communication|13.8 ms|6.2 %|CPU, forward|73.9 ms|33.2 %|CPU, backward|60.5 ms|27.2 %|Nothing recorded|25.0 ms|11.2 %|Launch latency|10.5 ms|4.7 %|",
    );
  });

  test("of several GPUs the step is that of one of them", () => {
    const two = { ...RESULT, devices: [RESULT.devices[0]!, { ...RESULT.devices[0]!, device: 1 }] };
    expect(draw(two)).toContain("|GPU 0 works |52.5 ms|, 24 %|GPU 0 waits |169.9 ms|, 76 %|");
    expect(
      renderToString(<Host page={hostPage(two)} tab={hostTab()} compared={null} />).replaceAll("\u00a0", " "),
    ).toContain("Mean step of 222.4 ms: GPU 0 works 52.5 ms and waits 169.9 ms");
  });

  test("CPU work of a phase means what CPU work does", () => {
    expect(renderToString(<Host page={hostPage()} tab={hostTab()} compared={null} />)).toMatch(
      /title="What CPU work means[^"]*"[^>]*>(?:(?!<button).)*CPU, forward/,
    );
  });

  test("a part without length is not named", () => {
    expect(page).not.toContain("Data loading|");
  });

  test("answers whether the CPU is the limit, with the numbers behind it", () => {
    expect(page).toContain(
      "|Is the CPU the limit?|Yes. The GPU waits |169.9 ms a step| for the host.|GPU idle|76.4 %|Queue depth|0.2|",
    );
  });

  test("shows the queue of the step of median length, and leads to the timeline", () => {
    expect(page).toContain(
      "|The host never gets ahead: the queue is empty 87 % of the time|step 5, 219.0 ms |Timeline|",
    );
    expect(draw(RESULT, { step: "4" })).toContain("|step 4, 222.0 ms |");
  });

  test("a zoom within the step is said and can be left; another step's does not hold", () => {
    expect(draw(RESULT, { step: "5", zoom: { from: 230 * MS, to: 240 * MS } })).toContain(
      "|step 5, 10.0 ms of 219.0 ms |Show all|",
    );
    expect(draw(RESULT, { step: "5", zoom: `${0}-${10 * MS}` })).toContain("|step 5, 219.0 ms |");
  });

  test("tells from where work is launched, and sums it up", () => {
    expect(page).toContain(
      "|Every phase is host-bound|run-ahead is the median|Launched from|Launches|Starved|Run-ahead|GPU idle a step|Forward: buffer broadcast|163|96 %|11 µs|39.4 ms|",
    );
    expect(page).toContain("|Optimizer|9|0 %|25 µs|14.0 ms|All|1 258|74 %|12 µs|169.7 ms|");
  });

  test("the end of the recording is no launch: it stands beside the sum", () => {
    const tail = {
      ...RESULT.sites[0]!,
      site: "unknown",
      phase: "unknown",
      label: "Launch not recorded",
      launches: 0,
      idle_ns: idle({ tail: 0.2 * MS }),
    };
    const page = draw({ ...RESULT, sites: [...RESULT.sites, tail] });
    expect(page).toContain("|All, and 0.2 ms tail|1 258|74 %|12 µs|169.9 ms|".replace("0.2 ms", "200 µs"));
    expect(page).not.toContain("Launch not recorded");
  });

  test("phases that differ have a verdict each", () => {
    const phases = RESULT.phases.map((row, at) => (at === 2 ? { ...row, bound: "gpu" as const } : row));
    expect(draw({ ...RESULT, phases })).toContain(
      "|Launched from|Verdict|Launches|Starved|Run-ahead|GPU idle a step|Forward: buffer broadcast|host-bound|163|",
    );
  });

  test("says so where no blocking call costs anything, and shows them when asked", () => {
    expect(page).toContain(
      "|No blocking call costs GPU time|8 calls of cudaEventSynchronize a step take 30 µs on the host. |Show them|",
    );
    expect(draw(RESULT, { blocking: "-blocked" })).toContain(
      "|outside any op|Optimizer|cudaEventSynchronize|–|8|30 µs|0 µs|",
    );
  });

  test("names what blocks, and for backward the forward line that made it", () => {
    const titles = { blocking: plain("Blocking calls leave the GPU idle for 12.0 ms a step") };
    const result = { ...RESULT, blocking: [BLOCKING], blocking_bubble_ns: 12 * MS };
    expect(draw(result, {}, titles)).toContain(
      "|aten::_local_scalar_dense|, in aten::item|Backward: autograd nodes|cudaMemcpyAsync + cudaStreamSynchronize|train.py(41): forward| Encoder_0|2|30.0 ms|12.0 ms|",
    );
    expect(draw(result, { calls: "nothing" }, titles)).toContain("|No call matches |nothing|. |Clear|");
  });

  test("cards stand beside it and lead to the timeline", () => {
    expect(page).toContain("|Stop the buffer broadcast|Major|, confidence high|DDP copies 159 buffers. |Timeline|");
  });

  test("without a GPU there are phases and ranges, and the reason for the rest", () => {
    const page = draw({
      ...RESULT,
      device: null,
      unknown: because("no_gpu_activity"),
      segments: [],
      launches: null,
      sites: [],
      queue: [],
    });
    expect(page).toContain("|Why is the GPU idle?|This trace has no GPU activity.|Which phase takes the step?|");
    expect(page).toContain("|What is spent in the named ranges?|");
    expect(page).not.toContain("Launched from");
  });

  test("a trace without steps and launches still stands", () => {
    const none = {
      ...RESULT,
      steps: [],
      segments: [],
      phases: [],
      sites: [],
      ranges: [],
      queue: [],
      device_levels: [],
      blocking: [],
      launches: null,
    };
    expect(draw(none)).toContain("|No work is launched in the steps.|");
  });
});

describe("the shown step", () => {
  test("is the selected one, else that of median length", () => {
    const steps = [step("1", 0, 30), step("2", 30, 10), step("3", 40, 20), step("4", 60, 90)];
    expect([
      shownStep(steps, { step: "4" }),
      shownStep(steps, {}),
      shownStep(steps, { step: "9" }),
      shownStep([], {}),
    ]).toEqual([3, 2, 2, 0]);
  });
});

describe("idle time", () => {
  test("sums over its reasons", () => {
    expect(idleOf(idle({ cpu_work: 3, tail: 4 }))).toBe(7);
  });

  test("is drawn per step or per phase", () => {
    expect(barsOfSteps(RESULT).map(({ name }) => name)).toEqual(["4", "5", "6"]);
    expect(barsOfPhases(RESULT).map(({ name, idle: of }) => [name, idleOf(of)])).toEqual([
      ["Forward", 90.8 * MS],
      ["Backward", 64.9 * MS],
      ["Optimizer", 14 * MS],
    ]);
    expect(draw(RESULT, { idle: "phase" })).toContain("|Step|Phase|");
  });

  test("verdicts differ only among what launches", () => {
    const bounds = new Map([
      ["forward", "host"],
      ["backward", "host"],
      ["optimizer", "gpu"],
    ]);
    expect(verdictsDiffer(RESULT.sites, bounds)).toBe(true);
    expect(
      verdictsDiffer(
        RESULT.sites.map((site) => (site.phase === "optimizer" ? { ...site, launches: 0 } : site)),
        bounds,
      ),
    ).toBe(false);
  });
});

describe("the tree of ranges", () => {
  const names = (open: ReadonlySet<string>) =>
    linesOf(RESULT.ranges, open).map(
      (line) => `${" ".repeat(line.depth)}${line.name}${line.inside > 0 ? (line.open ? " -" : " +") : ""}`,
    );

  test("closed branches hide what is inside, the longest stands first", () => {
    expect(names(new Set())).toEqual(["forward +", "backward"]);
    expect(names(new Set(["forward"]))).toEqual(["forward -", " decoder", " encoder +", "backward"]);
  });

  test("few ranges are open at first, many are not", () => {
    expect(names(openAtFirst(RESULT.ranges, 5))).toEqual([
      "forward -",
      " decoder",
      " encoder -",
      "  attention",
      "backward",
    ]);
    expect(openAtFirst(RESULT.ranges, 4).size).toBe(0);
  });

  test("a range whose surroundings were folded away stands under the nearest that was not", () => {
    expect(
      linesOf([range(["a"], 9), range(["a", "b", "c"], 2), range(["x", "y"], 1)], new Set(["a"])).map(
        ({ name, depth }) => [name, depth],
      ),
    ).toEqual([
      ["a", 0],
      ["c", 1],
      ["y", 0],
    ]);
  });
});

describe("blocking calls", () => {
  test("are found by op, call, place and maker", () => {
    const found = (typed: string) => matching([BLOCKING], typed).length;
    expect(["", "ITEM", "synchronize", "backward.nodes", "encoder", "train.py(41)", "cudaFree"].map(found)).toEqual([
      1, 1, 1, 1, 1, 1, 0,
    ]);
  });

  test("name the forward line before the module, and their own line where there is none", () => {
    expect(madeBy(BLOCKING)).toEqual(["train.py(41): forward", "Encoder_0", "forward aten::sparse_mm", "backward"]);
    expect(
      madeBy({
        ...BLOCKING,
        forward_op: null,
        forward_module: null,
        forward_source: null,
        user_range: null,
        source: "a.py(1): f",
      }),
    ).toEqual(["a.py(1): f"]);
  });

  test("of two GPUs have two keys", () => {
    expect(blockingKey(BLOCKING)).not.toBe(blockingKey({ ...BLOCKING, device: 1 }));
  });
});

describe("the way to the timeline", () => {
  test("shows what stands around a range, and nothing before the start", () => {
    expect(timelineKeys({ step: "5", start_ns: 1_000_000, end_ns: 3_000_000 })).toEqual({
      view: "timeline",
      step: "5",
      zoom: { from: 500_000, to: 3_500_000 },
    });
    expect(timelineKeys({ step: "1", start_ns: 100_000, end_ns: 1_100_000 })).toEqual({
      view: "timeline",
      step: "1",
      zoom: { from: 0, to: 1_350_000 },
    });
  });

  test("a short one has room around it", () => {
    expect(timelineKeys({ step: "5", start_ns: 100_000, end_ns: 102_000 })).toEqual({
      view: "timeline",
      step: "5",
      zoom: { from: 91_000, to: 111_000 },
    });
  });
});

describe("paths of the queue", () => {
  const level = { start: 0, bin: 10, values: [0, 2, null, 4] };

  test("leave out what is empty, and end with the window", () => {
    expect(
      areaPath(
        level,
        15,
        35,
        (at) => at,
        (value) => 10 - value,
        10,
      ),
    ).toBe("M15.0 10V8.0H20.0V10zM30.0 10V6.0H35.0V10z");
    expect(
      peakPath(
        level,
        0,
        40,
        (at) => at,
        (value) => 10 - value,
        10,
      ),
    ).toBe("M15.0 10V8.0M35.0 10V6.0");
  });
});

describe("bins of a pixel", () => {
  const levels = [
    { start: 0, bin: 40, values: [2, 4] },
    { start: 0, bin: 10, values: [1, null, 3, 2, 9, 3, 4, 0] },
  ];

  test("join finer ones, means and peaks each in their way", () => {
    expect(binsPerPixel(levels, 0, 80, 4, meanOf)).toEqual({ start: 0, bin: 20, values: [1, 2.5, 6, 2] });
    expect(binsPerPixel(levels, 0, 80, 4, maxOf)).toEqual({ start: 0, bin: 20, values: [1, 3, 9, 4] });
  });

  test("are as coarse as they come where those are fine enough, and the finest where none is", () => {
    expect(binsPerPixel(levels, 0, 80, 2, meanOf)).toBe(levels[0]);
    expect(binsPerPixel(levels, 0, 20, 20, meanOf)).toBe(levels[1]);
  });

  test("short gaps take the value before them, long ones and the ends stay", () => {
    const bins = { start: 0, bin: 1, values: [null, 5, null, null, 7, null, null, null, 2, null] };
    expect(carried(bins, 2).values).toEqual([null, 5, 5, 5, 7, null, null, null, 2, null]);
  });

  test("begin with the window, at a whole join", () => {
    expect(binsPerPixel(levels, 35, 75, 2, maxOf)).toEqual({ start: 20, bin: 20, values: [3, 9, 4] });
    expect([meanOf([null, null]), maxOf([null])]).toEqual([null, null]);
  });
});

describe("what is hidden in both pictures", () => {
  const { segments } = RESULT;

  test("a reason is hidden with the last of its segments", () => {
    expect([...hiddenReasons(segments, new Set(["kernel", "cpu_forward"]))]).toEqual([]);
    expect([...hiddenReasons(segments, new Set(["cpu_backward", "cpu_forward", "launch_latency"]))]).toEqual([
      "cpu_work",
      "launch_latency",
    ]);
    expect([...hiddenReasons(segments, new Set(["data_loading"]))]).toEqual(["data_loading"]); // although it has no length
  });

  test("a press on a reason hides or shows all of its segments, and no other", () => {
    const hidden = withToggled(segments, "cpu_work", new Set(["kernel", "cpu_forward"]));
    expect([...hidden].sort()).toEqual(["cpu_backward", "cpu_forward", "kernel"]);
    expect([...withToggled(segments, "cpu_work", hidden)]).toEqual(["kernel"]);
  });

  test("the pictures take what is hidden from each other", () => {
    const hollow = (...off: string[]) =>
      (
        renderToString(<Host page={hostPage()} tab={hostTab({ off: new Set(off) })} compared={null} />).match(
          /class="off"/g,
        ) ?? []
      ).length;
    expect(hollow()).toBe(0);
    expect(hollow("cpu_forward")).toBe(1);
    expect(hollow("cpu_forward", "cpu_backward")).toBe(3);
  });
});
