import type { ProductRate, ProductRates } from "../../api.gen";
import type { Column } from "../../components/table";
import { DASH, text } from "../../format";
import { largestOf } from "../../lists";
import type { Meanings } from "../../meanings";
import { sentence } from "../../phrase";
import { namedByOp, totalsOf } from "../choices";
import { differences } from "../compare/compared_columns";
import type { ViewPart } from "../props";
import { figuresOf, TablePicture, timesOf } from "../table_picture";
import { binOf, matrixUnits } from "./bins";
import { inputsOf } from "./opportunity_table";
import type { OtherSplit } from "./split";

interface RateTableProps extends ViewPart {
  rates: ProductRates;
  steps: number;
  other: OtherSplit | null;
}

/** For each op the rate on tensor cores, the rate within reach, and what keeps a slow op from it. */
export function RateTable({ rates, steps, other, tab, name }: RateTableProps) {
  const { rows } = rates;
  return (
    <TablePicture
      title={`Matrix products on ${matrixUnits(tab.meanings)}`}
      sub={`${totalsOf(tab)}${bestOf(rates)}`}
      name={`tensor core rates ${name}`}
      label="Rates"
      columns={() => [...rateColumns(rows, tab.meanings), ...difference(rows, steps, other)]}
      rows={rows}
      rowKey={keyOf}
      mark={["rates", ({ site }) => namedByOp(site.op, site.shapes)]}
      maxRows={8}
      order="rates"
      tab={tab}
    />
  );
}

const keyOf = ({ site, total_ns, tflops }: ProductRate): string =>
  [site.op, site.shapes, site.dtypes, site.kernel, total_ns, tflops].join("\n");

/** Matches by inputs and kernel: the same product in both spans. */
const difference = (rows: readonly ProductRate[], steps: number, other: OtherSplit | null) =>
  differences(other, other && (other.device.rates?.rows ?? []), {
    rows,
    keyOf: ({ site }) => [site.op, site.shapes, site.dtypes, site.module, site.kernel].join("\n"),
    ns: (row) => row.total_ns,
    steps: [steps, other?.device.steps.length ?? 1],
  });

/** "; compared with BFloat16 751 (peak 989) TFLOP/s": the best rate of longer calls, and the data sheet's; or empty. */
export function bestOf({ best_tflops, peak_tflops }: ProductRates): string {
  const rates = Object.entries(best_tflops).map(
    ([type, best]) => `${type.replace(/^c10::/, "")} ${number(best)} (peak ${number(peak_tflops[type] ?? null)})`,
  );
  return rates.length === 0 ? "" : `; compared with ${rates.join(", ")} TFLOP/s`;
}

const number = (value: number | null): string => text(value, "number");

/** Widths of the columns of figures, px; text columns share the rest. */
const COUNT = 62;
const TOTAL = 78;
const RATE = 76;
const GAIN = 120;

export function rateColumns(rows: readonly ProductRate[], meanings: Meanings): Column<ProductRate>[] {
  const longest = largestOf(rows, (row) => row.gain_ns);
  const figure = figuresOf<ProductRate>(meanings);
  return [
    {
      id: "op",
      label: "Op",
      order: (row) => row.site.op,
      cell: (row) => <Op row={row} />,
      file: SITE.map(([label, field]) => ({ label, of: ({ site }) => site[field] })),
    },
    {
      id: "why",
      label: "Why slow",
      order: (row) => row.slow,
      prose: ({ why }) => why && { text: meanings.explain(why) },
      cell: (row) => <NotSlow row={row} />,
      file: [{ label: "Why slow", of: ({ why }) => why && sentence(meanings.explain(why)) }],
    },
    figure("product_calls", "product_calls", COUNT, (row) => row.count, { adds: "recording" }),
    figure("total_ns", "total_ns", TOTAL, (row) => row.total_ns, TIME),
    figure("tflops", "tflops", RATE, (row) => row.tflops),
    { ...figure("attainable_tflops", "attainable_tflops", RATE, (row) => row.attainable_tflops), missing: NOT_SHOWN },
    {
      ...figure("slow_gain_ns", "slow_gain_ns", GAIN, (row) => (row.slow === null ? null : row.gain_ns), TIME),
      bar: (row) => [{ ...binOf(meanings, "tensor_core"), share: row.gain_ns / longest }],
      hint: (row) => (row.slow === null ? notSlow(row) : null),
    },
  ];
}

/** The columns of a saved file that say where a product is. */
const SITE = [
  ["Op", "op"],
  ["Shapes", "shapes"],
  ["Types", "dtypes"],
  ["Module", "module"],
  ["Source", "source"],
  ["Kernel", "kernel"],
] as const;

const TIME = timesOf("recording");

/** The op, and in faint type its inputs and its place. */
function Op({ row: { site } }: { row: ProductRate }) {
  const inputs = inputsOf(site.shapes, site.dtypes);
  const whole = [site.op, site.shapes, site.dtypes, site.module, site.source, site.kernel];
  return (
    <span data-hint={whole.filter((each) => each !== null).join("\n")}>
      {site.op ?? DASH}
      {inputs && <span class="faint"> {inputs}</span>}
      {site.module !== null && <span class="faint"> in {site.module}</span>}
    </span>
  );
}

const NOT_SHOWN = "No product of this type in the trace shows what is in reach.";

const notSlow = ({ attainable_tflops }: ProductRate): string =>
  attainable_tflops === null ? NOT_SHOWN : "It reaches at least half of what is in reach.";

function NotSlow({ row }: { row: ProductRate }) {
  if (row.causal === true) return <span class="faint">Causal mask</span>;
  return (
    <span class="faint" data-hint={notSlow(row)}>
      {DASH}
    </span>
  );
}
