import { rangeInTimeline } from "../../address/timeline";
import type { Grown } from "../../api.gen";
import { Picture } from "../../components/picture";
import { type Column, Table } from "../../components/table";
import { ns } from "../../format";
import { marking, sorting } from "../choices";
import type { HostPart } from "../props";

/** Steps that are longer than the others, and what grew in them. */
export function SlowSteps({ result: { grown }, tab, name }: HostPart) {
  return (
    <Picture
      title={"What takes longer in the slow steps?"}
      sub="against the median of the others"
      name={`slow steps ${name}`}
      drawn={false}
      table={() => tableOf(grown)}
      link={() => tab.address()}
    >
      <Table
        label="Slow steps"
        columns={columns}
        rows={grown}
        rowKey={(row) => row.step}
        {...marking(
          tab.state,
          "slow",
          grown,
          (row) => row.step,
          (row) => row.step,
        )}
        {...sorting(tab, "grown")}
        maxRows={10}
        onChoose={(row) => tab.update(rangeInTimeline(row))}
      />
    </Picture>
  );
}

const partsOf = ({ grown }: Grown): string => grown.map((part) => `${part.label} ${ns(part.excess_ns)}`).join(", ");

const columns: Column<Grown>[] = [
  { id: "step", label: "Step", width: "56px", order: (row) => row.start_ns, cell: (row) => row.step },
  {
    id: "time",
    label: "Step time",
    width: "76px",
    figures: { of: (row) => row.end_ns - row.start_ns, unit: "ns", siblings: "time" },
  },
  {
    id: "excess",
    label: "Longer by",
    width: "76px",
    figures: { of: (row) => row.excess_ns, unit: "ns", siblings: "time" },
  },
  {
    id: "grown",
    label: "What grew",
    cell: (row) => (
      <span class="after" data-hint={partsOf(row)}>
        {partsOf(row)}
      </span>
    ),
  },
];

function tableOf(rows: readonly Grown[]) {
  return {
    columns: [
      { label: "Step" },
      { label: "Step time", unit: "ns" as const },
      { label: "Longer by", unit: "ns" as const },
      { label: "What grew" },
    ],
    rows: rows.map((row) => [row.step, row.end_ns - row.start_ns, row.excess_ns, partsOf(row)]),
  };
}
