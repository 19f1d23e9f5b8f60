import { rangeInTimeline } from "../../address/timeline";
import type { Grown } from "../../api.gen";
import type { Column } from "../../components/table";
import { ns } from "../../format";
import type { HostPart } from "../props";
import { TablePicture } from "../table_picture";

/** Steps that are longer than the others, and what grew in them. */
export function SlowSteps({ result: { grown }, tab, name }: HostPart) {
  return (
    <TablePicture
      title="What takes longer in the slow steps?"
      sub="against the median of the others"
      name={`slow steps ${name}`}
      label="Slow steps"
      columns={columns}
      rows={grown}
      rowKey={(row) => row.step}
      mark={["slow", (row) => row.step]}
      order="grown"
      maxRows={10}
      tab={tab}
      onChoose={(row) => tab.update(rangeInTimeline(row))}
    />
  );
}

const partsOf = ({ grown }: Grown): string => grown.map((part) => `${part.label} ${ns(part.excess_ns)}`).join(", ");

const columns: Column<Grown>[] = [
  {
    id: "step",
    label: "Step",
    width: "56px",
    order: (row) => row.start_ns,
    cell: (row) => row.step,
    file: [{ label: "Step", of: (row) => row.step }],
  },
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
    file: [{ label: "What grew", of: partsOf }],
  },
];
