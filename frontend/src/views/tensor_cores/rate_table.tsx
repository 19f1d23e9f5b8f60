import type { ProductRate, ProductRates } from "../../api.gen";
import { InlineBar } from "../../charts/bars/split_bar";
import type { TableData } from "../../components/data_table";
import { type Figures, totalsText } from "../../components/figures";
import { Picture } from "../../components/picture";
import { Sentence } from "../../components/sentence";
import { type Column, ROW_PX, Table } from "../../components/table";
import { Sized } from "../../dom/size";
import { DASH, text } from "../../format";
import { columnHead, type Meanings } from "../../meanings";
import { sentence } from "../../phrase";
import { marking, namedByOp, readingOf, sorting } from "../choices";
import { differenceColumn } from "../compare/column";
import type { Tab } from "../props";
import { binOf, matrixUnits } from "./bins";
import { inputsOf } from "./opportunities";
import type { OtherSplit } from "./split";

/** Rows before the table scrolls. */
const MOST = 8;

interface RateTableProps {
  rates: ProductRates;
  /** Steps that the totals are of. */
  steps: number;
  /** The same of the span that is compared with. */
  other: OtherSplit | null;
  tab: Tab;
  name: string;
}

/** Op by op the rate on tensor cores, what is in reach, and what keeps a slow one from it. */
export function RateTable({ rates, steps, other, tab, name }: RateTableProps) {
  const { rows } = rates;
  return (
    <Picture
      title={`How fast are matrix products on ${matrixUnits(tab.meanings)}?`}
      sub={`${totalsText(readingOf(tab))}${bestOf(rates)}`}
      name={`tensor core rates ${name}`}
      table={() => ratesData(rows, tab.meanings)}
      link={() => tab.address()}
      drawn={false}
    >
      <Sized height={(Math.min(MOST, rows.length) + 1) * ROW_PX}>
        {() => (
          <Table
            label="Rates"
            columns={[...rateColumns(rows, tab.meanings), ...(other ? [difference(rows, steps, other)] : [])]}
            rows={rows}
            rowKey={keyOf}
            {...marking(tab.state, "rates", rows, ({ site }) => namedByOp(site.op, site.shapes), keyOf)}
            maxRows={MOST}
            {...sorting(tab, "rates")}
          />
        )}
      </Sized>
    </Picture>
  );
}

const keyOf = ({ site, total_ns, tflops }: ProductRate): string =>
  [site.op, site.shapes, site.dtypes, site.kernel, total_ns, tflops].join("\n");

/** By inputs and kernel: the same product in both spans. */
function difference(rows: readonly ProductRate[], steps: number, { name, own, device }: OtherSplit) {
  return differenceColumn({
    rows,
    others: device.rates?.rows ?? [],
    keyOf: ({ site }: ProductRate) => [site.op, site.shapes, site.dtypes, site.module, site.kernel].join("\n"),
    ns: (row) => row.total_ns / Math.max(1, steps),
    otherNs: (row) => row.total_ns / Math.max(1, device.steps.length),
    name,
    own,
  });
}

/** ", best BFloat16 751 of 989 TFLOP/s", the peak of the data sheet; nothing where no product shows a rate. */
export function bestOf({ best_tflops, peak_tflops }: ProductRates): string {
  const said = Object.entries(best_tflops).map(
    ([type, best]) => `${type.replace(/^c10::/, "")} ${number(best)} of ${number(peak_tflops[type] ?? null)}`,
  );
  return said.length === 0 ? "" : `, best ${said.join(", ")} TFLOP/s`;
}

const number = (value: number | null): string => text(value, "number");

/** Widths of the columns of figures, px; those of words share the rest. */
const COUNT = 62;
const TOTAL = 78;
const RATE = 76;
const GAIN = 120;

export function rateColumns(rows: readonly ProductRate[], meanings: Meanings): Column<ProductRate>[] {
  const longest = rows.reduce((most, row) => Math.max(most, row.gain_ns), 1);
  return [
    { id: "op", label: "Op", order: (row) => row.site.op, cell: (row) => <Op row={row} /> },
    { id: "why", label: "Why slow", order: (row) => row.slow, cell: (row) => <Why row={row} meanings={meanings} /> },
    figure("product_calls", COUNT, { of: (row) => row.count, unit: "count", adds: "recording" }, meanings),
    figure("total_ns", TOTAL, { ...TIME, of: (row) => row.total_ns }, meanings),
    figure("tflops", RATE, { of: (row) => row.tflops, unit: "number" }, meanings),
    {
      ...figure("attainable_tflops", RATE, { of: (row) => row.attainable_tflops, unit: "number" }, meanings),
      missing: NOT_SHOWN,
    },
    {
      ...figure("slow_gain_ns", GAIN, { ...TIME, of: (row) => (row.slow === null ? null : row.gain_ns) }, meanings),
      cell: (row, written) => (
        <span class="total" data-hint={row.slow === null ? notSlow(row) : undefined}>
          <InlineBar segments={[{ ...binOf(meanings, "tensor_core"), share: row.gain_ns / longest }]} />
          {written}
        </span>
      ),
    },
  ];
}

const TIME = { unit: "ns", adds: "recording", siblings: "time" } as const;

const figure = (id: string, width: number, figures: Figures<ProductRate>, meanings: Meanings): Column<ProductRate> => ({
  id,
  ...columnHead(meanings, id),
  width: `${width}px`,
  figures,
});

/** The op, and quietly what it worked on and where. */
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

function Why({ row, meanings }: { row: ProductRate; meanings: Meanings }) {
  if (row.why !== null) return <Sentence phrase={meanings.explain(row.why)} />;
  if (row.causal === true) return <span class="faint">Causal mask</span>;
  return (
    <span class="faint" data-hint={notSlow(row)}>
      {DASH}
    </span>
  );
}

export function ratesData(rows: readonly ProductRate[], meanings: Meanings): TableData {
  return {
    columns: [
      ...["Op", "Shapes", "Types", "Module", "Source", "Kernel", "Why slow"].map((label) => ({ label })),
      { label: "Calls", unit: "count" },
      { label: "Total", unit: "ns" },
      { label: "TFLOP/s" },
      { label: "In reach" },
      { label: "Gain, up to", unit: "ns" },
    ],
    rows: rows.map(({ site, ...row }) => [
      site.op,
      site.shapes,
      site.dtypes,
      site.module,
      site.source,
      site.kernel,
      row.why && sentence(meanings.explain(row.why)),
      row.count,
      row.total_ns,
      row.tflops,
      row.attainable_tflops,
      row.slow === null ? null : row.gain_ns,
    ]),
  };
}
