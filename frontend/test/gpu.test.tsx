import { describe, expect, test } from "vitest";
import { tableData } from "../src/components/data_table";
import { quoted } from "../src/components/filter";
import { fileColumns, sorted } from "../src/components/table";
import { LaunchPicture } from "../src/views/gpu/detail";
import { Gpu } from "../src/views/gpu/gpu";
import { GROUPINGS, groupingOf, isMissing, keyOf, matching, offered, restOf, tableBy } from "../src/views/gpu/groups";
import { columnsOf } from "../src/views/gpu/kernel_table";
import { rowsOf } from "../src/views/gpu/over_time";
import { DETAIL, DEVICE, gpuPage, gpuTab, KERNELS, kernel, RESULT } from "./fixtures/gpu";
import { because, plain } from "./fixtures/pages";
import { detailsOf, hintsOf, words } from "./fixtures/words";

describe("rows of the kernel table", () => {
  const columns = columnsOf(groupingOf("name"), gpuTab().meanings, KERNELS, 1056);
  const by = (sort: string) => sorted(KERNELS, columns, sort).map(({ name }) => name.slice(0, 4));

  test("every grouping has its table, and a strange one is by kernel", () => {
    expect(GROUPINGS.map((grouping) => tableBy(DEVICE, grouping).rows.length)).toEqual([3, 3, 0, 0, 2, 1, 0]);
    expect(GROUPINGS.filter((grouping) => isMissing(DEVICE, grouping)).map(({ label }) => label)).toEqual([
      "Kernel and module",
      "Kernel and line",
      "Line",
    ]);
    expect([groupingOf(undefined).id, groupingOf("planet").id, groupingOf("name,op").id]).toEqual([
      "name",
      "name",
      "name,op",
    ]);
  });

  test("the filter finds kernels, ops and modules, in any case", () => {
    const names = (typed: string) => matching(KERNELS, typed).map(({ name }) => name.slice(0, 4));
    expect(names(" SGEMM ")).toEqual(["volt"]);
    expect(names("aten::")).toEqual(["volt", "sm90"]);
    expect(names("outside any")).toEqual(["void"]);
    expect(names("encoder")).toEqual(["sm90"]);
    expect(names("nothing")).toEqual([]);
    expect(names("")).toHaveLength(3);
  });

  test("figures sort both ways, and what is not known comes last either way", () => {
    expect(by("-total")).toEqual(["volt", "void", "sm90"]);
    expect(by("total")).toEqual(["sm90", "void", "volt"]);
    expect([by("-waves"), by("waves")]).toEqual([
      ["volt", "sm90", "void"],
      ["volt", "sm90", "void"],
    ]);
    expect(by("tensor_core")).toEqual(["volt", "void", "sm90"]); // not used, not eligible, used
  });

  test("what is not shown stands in the foot, to the last ns", () => {
    const table = tableBy(DEVICE, groupingOf("name"));
    const shown = matching(table.rows, "gemm");
    const rest = restOf(table, shown);
    expect(rest).toEqual({ rows: 5, count: 50, ns: 35e6 });
    expect(rest.ns + shown.reduce((sum, row) => sum + row.total_ns, 0)).toBe(DEVICE.split.kernel_ns);
  });

  test("a kernel of two ops has two keys", () => {
    expect(
      new Set(
        [kernel("k", 1), kernel("k", 1, { op: "aten::add" }), kernel("k", 1, { op: null, no_op: "outside" })].map(
          keyOf,
        ),
      ).size,
    ).toBe(3);
  });

  test("heads are the catalogue's, short ones where it has them", () => {
    expect(columns.filter(({ extra }) => !extra).map(({ label }) => label)).toEqual([
      "Kernel",
      "Tensor cores",
      "Launches",
      "Mean",
      "Total",
      "Share",
      "Blocks/SM",
      "Waves",
      "Slot eff.",
      "Est. occupancy",
    ]);
    expect(columns.find(({ id }) => id === "slot_efficiency")!.meaning).toBe(
      "Slot efficiency. What Slot efficiency means.",
    );
  });

  test("a wide table has more columns, and one by kernel and op says the op", () => {
    const ids = (grouping: string, width: number, rows = KERNELS) =>
      columnsOf(groupingOf(grouping), gpuTab().meanings, rows, width).flatMap(({ id, extra }) => (extra ? [] : [id]));
    expect(ids("name", 1700)).toEqual([...ids("name", 1056), "tail_fraction", "sm_active_share", "min_ns", "max_ns"]);
    expect(ids("name,op", 1056)[1]).toBe("op");
    expect(ids("name", 852)).toEqual(ids("name", 1056).slice(0, -1)); // names keep their width
  });

  test("a table says the line where lines are recorded, and leaves out figures rather than names", () => {
    const lines = [kernel("gemm", 5, { source: "src/net.py(7): forward", source_count: 3 }), kernel("copy", 1)];
    const drawn = (grouping: string, width: number) =>
      columnsOf(groupingOf(grouping), gpuTab().meanings, lines, width).filter(({ extra }) => !extra);
    expect(["name", "op", "module", "name,line"].map((by) => drawn(by, 1056)[1]!.label)).toEqual(Array(4).fill("Line"));
    expect(["line", "name,op", "name,module"].map((by) => drawn(by, 1056)[1]!.label)).toEqual(["Op", "Op", "Module"]);
    const [name, line] = drawn("name", 1056);
    expect(words(<p>{lines.map((row) => line!.cell!(row, "", String))}</p>)).toBe("|net.py:7 forward| +2|–|");
    expect(name!.label).toBe("Kernel");
    expect(drawn("name", 1056).at(-1)!.id).toBe("est_achieved_occupancy");
    expect(drawn("name", 960).at(-1)!.id).toBe("slot_efficiency");
  });

  test("a name between quotes is the whole of it", () => {
    const rows = [kernel("a", 1, { module: "Linear_1" }), kernel("b", 1, { module: "Linear_12" })];
    expect(matching(rows, "linear_1").map(({ name }) => name)).toEqual(["a", "b"]);
    expect(matching(rows, quoted("Linear_1")).map(({ name }) => name)).toEqual(["a"]);
    expect(matching(rows, '"')).toEqual([]);
  });

  test("kernels of a module and of a line are offered from there", () => {
    const labels = (id: string) => offered(groupingOf(id)).map(({ label }) => label);
    expect(labels("name")).toEqual(["Kernel", "Kernel and op", "Op", "Module", "Line"]);
    expect(labels("name,line")).toEqual(["Kernel", "Kernel and op", "Kernel and line", "Op", "Module", "Line"]);
  });

  test("a saved table holds every figure, Kineto's occupancy next to ours", () => {
    const columns = columnsOf(groupingOf("name"), gpuTab().meanings, KERNELS, 2_000);
    const saved = tableData(fileColumns(columns), KERNELS);
    const first = Object.fromEntries(saved.columns.map(({ label }, at) => [label, saved.rows[0]![at]]));
    expect(first).toEqual({
      Name: "volta_sgemm_64x64_nt",
      Op: "aten::mm",
      Module: null,
      Line: null,
      "Tensor cores": "no",
      Why: "FP32 on plain cores",
      Launches: 10,
      Mean: 6e6,
      Total: 60e6,
      Share: 0.6,
      "Blocks/SM": 4.2,
      Waves: 2,
      "Slot eff.": 0.75,
      "Est. achieved occupancy": 0.5,
      "Occupancy as Kineto writes it": 0,
      "Last wave": 0.5,
      "SMs with work": 1,
      Shortest: 1000,
      Longest: 9000,
    });
  });
});

describe("the rows", () => {
  const rows = rowsOf(DEVICE, gpuTab().meanings);

  test("the hidden wait is the hatched sense of the exposed one", () => {
    expect(rows[0]).toMatchObject({ key: "loader_exposed_share", value: "50.0\u00a0%", thin: true });
    expect(rows[0]!.layers.map(({ label, hatched }) => [label, hatched])).toEqual([
      ["Data loading, exposed", false],
      ["Data loading, hidden", true],
    ]);
  });

  test("a figure that cannot be measured has no row, but its reason below the picture", () => {
    expect(rows.map(({ key }) => key)).toEqual(["loader_exposed_share", "gpu_utilization", "est_achieved_occupancy"]);
    const view = <Gpu page={gpuPage(RESULT)} tab={{ ...gpuTab(), steps: 2 }} compared={null} />;
    expect(words(view)).toContain("|1 figure without values|");
    expect(detailsOf(view)).toContain("Est. SM efficiency. This trace does not say how many blocks.");
  });
});

describe("the GPU view", () => {
  const draw = (state = {}, result = RESULT) =>
    words(<Gpu page={gpuPage(result)} tab={{ ...gpuTab(state), steps: result.steps.length }} compared={null} />);

  test("says how full the GPU is, what its kernels do, and which they are", () => {
    const page = draw();
    expect(page).toContain("|The GPU is idle while the main process waits for data|span 2, 200.0 ms|");
    expect(page).toContain(
      "|Tensor cores|5.0 ms|10.0 %|Matmul-like, no tensor cores|30.0 ms|60.0 %|" + "Other kernels|15.0 ms|30.0 %|",
    );
    expect(page).toContain("|a step| |Kernel|Kernel and op|Op|Module|");
    expect(hintsOf(<Gpu page={gpuPage(RESULT)} tab={gpuTab({})} compared={null} />)).toContain(
      "Occupancy of 5.0 % of kernel time is computed from the launch: the profiler wrote 0 there, which is wrong.",
    );
  });

  test("totals are of a mean step, or of all steps where the address says so", () => {
    expect(draw({ totals: "recording" })).toContain("|Tensor cores|10.0 ms|10.0 %|");
    expect(draw({ totals: "recording" })).toContain("|100.0 ms of kernel time in 2 steps. |");
    expect(draw({ totals: "recording" })).toContain("|in 2 steps| |Kernel|Kernel and op|");
  });

  test("a zoomed row says what it shows and leads back", () => {
    expect(draw({ zoom: { from: 5e6, to: 55e6 } })).toContain("|50.0 ms of span 2 |Show all|");
    expect(draw({ zoom: { from: 0, to: 50e6 } })).not.toContain("Show all"); // the range begins before the first step
  });

  test("without a GPU there is nothing to draw: the headline says why", () => {
    const page = draw({}, { ...RESULT, devices: [], unknown: because("no_gpu_activity") });
    expect(page).toBe("|");
  });

  test("several GPUs can be picked, and the address keeps which", () => {
    const two = {
      ...RESULT,
      devices: [DEVICE, { ...DEVICE, device: 3 }],
    };
    expect(draw({}, two)).toContain("|Device|GPU 0|GPU 3|The GPU is idle while the main process waits for data|");
    expect(draw({ device: 3 }, two)).toContain("|The other one is busy|");
  });

  test("an opened kernel shows its launches", () => {
    const page = draw({ opened: DETAIL.name });
    expect(page).toContain("|A launch takes 100 µs to 400 µs|10 launches|");
    expect(page).toContain("|It runs for 30.0 % of the span|launches by start|");
    expect(page).toContain("|2 waves, the last 12.0 % full|");
    expect(page).toContain(
      "|Grid|4 × 7 × 32, 896 blocks|Block|8 × 8 × 1, 64 threads|Registers of a thread|88|Shared " +
        "memory of a block|3 328 B|Launches like this|6 of 10|",
    );
  });

  test("without recorded lines the table by line says what adds them", () => {
    const titles = { ...gpuPage().titles, no_lines: plain("Lines are not recorded.") };
    const by = (id: string) =>
      words(<Gpu page={{ ...gpuPage(), titles }} tab={{ ...gpuTab({ by: id }), steps: 1 }} compared={null} />);
    expect(by("line")).toContain("|Lines are not recorded.|");
    expect(by("line")).not.toContain("|volta_sgemm");
    expect(by("name")).not.toContain("|Lines are not recorded.|");
  });

  test("a kernel whose launches are not listed says so", () => {
    expect(draw({ opened: "another" })).toContain(
      "|Single launches are kept for the 1 kernel with most time. This kernel is not one of them.|",
    );
  });
});

test("a kernel without a grid says why there is no picture of its waves", () => {
  const device = { ...DEVICE, tiles: [] };
  const shape = words(<LaunchPicture shape={null} launches={3} device={device} tab={gpuTab()} name="a" />);
  expect(shape).toContain("|How does a launch fill the GPU?|");
  expect(shape).toContain("|This trace does not say the grid of this kernel.|");
});
