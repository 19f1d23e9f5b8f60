import { describe, expect, test } from "vitest";
import { rangeInTimeline, stepInTimeline } from "../src/address/selection";
import type { PageOf } from "../src/api.gen";
import { shownStep } from "../src/views/choices";
import { Host } from "../src/views/host/host";
import { all } from "./fixtures/all";
import { hostPage, hostTab, idle, MS, RESULT, step, TITLES } from "./fixtures/host";
import { because } from "./fixtures/pages";
import { htmlOf, rowsOf, words } from "./fixtures/words";

const view = (result = RESULT, state = {}, titles = TITLES as PageOf<"host">["titles"]) => (
  <Host page={hostPage(result, titles)} tab={hostTab(state)} compared={null} />
);
const draw = (...args: Parameters<typeof view>): string => words(view(...args));
const SITES = "GPU idle time by the launch that ended it";

describe("the Host view", () => {
  const page = draw();

  test("divides the mean step into work and waits, and names each wait", () => {
    expect(page).toContain(
      "|GPU works |52.5 ms|, 24 %|GPU waits |169.9 ms|, 76 %|Kernel 38.7|Communication 13.8|forward 73.9|" +
        "backward 60.5|Nothing recorded 25.0|Launch latency 10.5|0|50|100|150|Mean step| |222.4 ms|",
    );
    expect(page).toContain(
      "|Kernel|38.7 ms|17.4 %|Communication|13.8 ms|6.2 %|CPU, forward|73.9 ms|33.2 %|CPU, " +
        "backward|60.5 ms|27.2 %|Nothing recorded|25.0 ms|11.2 %|Launch latency|10.5 ms|4.7 %|",
    );
  });

  test("of several GPUs the step is that of one of them", () => {
    const two = { ...RESULT, devices: [RESULT.devices[0]!, { ...RESULT.devices[0]!, device: 1 }] };
    expect(draw(two)).toContain("|GPU 0 works |52.5 ms|, 24 %|GPU 0 waits |169.9 ms|, 76 %|");
    expect(htmlOf(view(two))).toContain("Mean step of 222.4 ms: GPU 0 works 52.5 ms and waits 169.9 ms");
  });

  test("CPU work of a phase means what CPU work does", () => {
    expect(htmlOf(view())).toMatch(/data-hint="What CPU work means[^"]*"[^>]*>(?:(?!<button).)*CPU, forward/);
  });

  test("a part without length is not named", () => {
    expect(page).not.toContain("Data loading|");
  });

  test("answers whether the CPU is the limit, with the numbers behind it", () => {
    expect(page).toContain(
      "|Is the CPU the limit?|Yes. The GPU waits |169.9 ms a step| for the host.|" +
        "GPU idle, 76.4 %|What GPU idle means.|Queue depth, 0.2|What Queue depth means.|",
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

  test("says from where work is launched, and sums it up", () => {
    expect(page).toContain("|Every phase is host-bound|a step|");
    const rows = rowsOf(view(), SITES).map(({ "Launched from": from, ...row }) => [from, ...Object.values(row)]);
    expect(rows[0]).toEqual(["Forward: buffer broadcast", "163", "96 %", "11 µs", "39.4 ms"]);
    expect(rows.slice(-2)).toEqual([
      ["Optimizer", "9", "0 %", "25 µs", "14.0 ms"],
      ["All", "1 258", "74 %", "12 µs", "169.7 ms"],
    ]);
  });

  test("the end of the recording is no launch: it stands next to the sum", () => {
    const tail = {
      ...RESULT.sites[0]!,
      site: "no_launch",
      phase: "unknown" as const,
      label: "Does not repeat, or after the last work",
      launches: 0,
      idle_ns: idle({ tail: 0.2 * MS }),
    };
    const withTail = view({ ...RESULT, sites: [...RESULT.sites, tail] });
    const rows = rowsOf(withTail, SITES);
    expect(rows.at(-1)).toMatchObject({
      "Launched from": "All, and after the last work",
      Launches: "1 258",
      "GPU idle": "169.9 ms",
    });
    expect(rows.some((row) => row["Launched from"] === tail.label)).toBe(false);
    expect(htmlOf(withTail)).toContain('data-hint="What Tail means."');
  });

  test("there is no depth of the queue where no launch is recorded", () => {
    const unlinked = { ...RESULT, launches: { ...RESULT.launches!, starved_share: null, unlinked: 4 } };
    expect(page).not.toContain("not known");
    expect(draw(unlinked)).toContain("|The host never gets ahead: the queue is empty 87 % of the time|not known|");
    expect(draw(unlinked)).not.toContain("Queue depth|");
  });

  test("phases that differ have a verdict each", () => {
    const phases = RESULT.phases.map((row, at) => (at === 2 ? { ...row, bound: "gpu" as const } : row));
    const [first] = rowsOf(view({ ...RESULT, phases }), SITES);
    expect(first).toMatchObject({
      "Launched from": "Forward: buffer broadcast",
      Verdict: "host-bound",
      Launches: "163",
    });
  });

  test("says so where no blocking call costs anything, and gives no section to calls that there are not", () => {
    expect(page).toContain("|No blocking call costs GPU time|a step|");
    expect(htmlOf(view())).toContain('data-hint="8 calls of cudaEventSynchronize a step take 30 µs on the host."');
    expect(draw({ ...RESULT, blocking: [] })).not.toMatch(/blocking call/i);
  });

  test("cards stand next to it and lead to the timeline", () => {
    expect(page).toContain(
      "|Stop the buffer broadcast|Major|, confidence high|DDP copies 159 buffers. |Step 5 in Timeline|",
    );
  });

  test("without a GPU there are phases and ranges, and no GPU is asked about", () => {
    const page = draw({
      ...RESULT,
      device: null,
      unknown: because("no_gpu_activity"),
      segments: [],
      launches: null,
      sites: [],
      queue: [],
    });
    expect(page).toContain("|Which phase takes the step?|");
    expect(page).not.toContain("Why is the GPU idle?");
    expect(page).toContain("|Time of named ranges|");
    expect(page).not.toContain("Launched from");
  });

  test("a range that began before the steps has no count, and says why", () => {
    const first = RESULT.ranges[0]!;
    const ranges = [
      { ...first, count: 0 },
      { ...first, path: ["counted"], count: 1 },
    ];
    expect(htmlOf(view({ ...RESULT, ranges }))).toContain("It began before the steps, and is open in them.");
  });

  test("of a job on the CPU its ops stand first, and no GPU is asked about", () => {
    const work = {
      groups: [],
      optimizer: null,
      rest_ns: 2_000_000,
      ops_ns: 60_000_000,
      busy_ns: 58_000_000,
      step_ns: 222_400_000,
    };
    const op = {
      op: "aten::addmm",
      calls: 4,
      self_ns: 58_000_000,
      usual_ns: 58_000_000,
      dtype: "float",
      allocated_bytes: null,
    };
    const others = {
      ...all(0, "recurrent_share table_fill_ns table_saved_ns"),
      slow_half: null,
      short_gaps_ns: 0,
      channels_last: false,
      autocast: false,
      first_pass: false,
    };
    const cpu = { ...work, ...others, ops: [op], threads: 1, cores: null };
    const alone = { ...RESULT, device: null, unknown: because("no_gpu_activity"), bound: "cpu" as const, cpu };
    const page = draw(alone);
    expect(page).not.toContain("Why is the GPU idle?");
    expect(page).toContain("|Which ops take the CPU's time?|a step, on 1 thread|");
    expect(page).toContain("|aten::addmm|4|58.0 ms|26.1 %|float|");
    const unknown = draw({ ...alone, cpu: { ...cpu, cores: 8, ops: [{ ...op, dtype: null }] } });
    expect(unknown).toContain("|a step, on 1 thread of 8 cores|");
    expect(unknown).not.toContain("|Input|");
    expect(unknown).not.toContain("|Allocated|");
    const recorded = draw({ ...alone, cpu: { ...cpu, ops: [{ ...op, allocated_bytes: 4096 }] } });
    expect(recorded).toContain("|aten::addmm|4|58.0 ms|26.1 %|4 kB|float|");
  });

  test("a trace without steps and launches still stands", () => {
    const none = {
      ...RESULT,
      ...all([], "steps segments phases sites ranges queue device_levels blocking"),
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

describe("the way to the timeline", () => {
  /** Asserts that the range is marked there, and returns what is visible around it. */
  const opened = (step: string, from: number, to: number) => {
    const { zoom, ...more } = rangeInTimeline({ step, start_ns: from, end_ns: to });
    expect(more).toEqual({ view: "timeline", step, range: { from, to }, event: null });
    return [zoom!.from, zoom!.to];
  };

  test("shows what stands around a range, and nothing before the start", () => {
    expect(opened("5", 1_000_000, 3_000_000)).toEqual([500_000, 3_500_000]);
    expect(opened("1", 100_000, 1_100_000)).toEqual([0, 1_350_000]);
  });

  test("a step opens without what was chosen before", () => {
    const nothing = { view: "timeline", zoom: null, range: null };
    expect(stepInTimeline("7")).toEqual({ ...nothing, step: "7", event: null });
  });

  test("a short one has room around it", () => {
    expect(opened("5", 100_000, 102_000)).toEqual([91_000, 111_000]);
  });
});
