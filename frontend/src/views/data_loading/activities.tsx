import type { Activity, DataLoadingResult } from "../../api.gen";
import { InlineBar } from "../../components/inline_bar";
import { Picture } from "../../components/picture";
import { type Column, Table } from "../../components/table";
import { count, ns } from "../../format";
import type { Tab } from "../props";

/** What the training thread does inside the loader, self time a batch. */
export function Activities({ result, tab, name }: { result: DataLoadingResult; tab: Tab; name: string }) {
  const { activities, activities_title: title, more_activities: more, more_activities_ns: more_ns } = result;
  return (
    <Picture
      title={title ?? "What the loader does"} name={`loader activities ${name}`} link={() => tab.address()} drawn={false}
      table={() => ({ columns: [{ label: "Activity" }, { label: "A batch", unit: "ns" }], rows: activities.map((row) => [nameOf(row), row.ns_per_batch]) })}
    >
      <Table
        label="What the loader does" columns={columns(Math.max(...activities.map((row) => row.ns_per_batch)))} rows={activities} rowKey={nameOf}
        foot={more > 0 && <tr><td colSpan={2}>{count(more)} more</td><td class="num">{ns(more_ns)}</td></tr>}
        sort={tab.state["activity"]} onSort={(activity) => tab.update({ activity })}
      />
      <p class="quiet small aside">Self time of the training process.</p>
    </Picture>
  );
}

const nameOf = ({ name }: Activity): string => name ?? "Python, no op";

function columns(longest: number): Column<Activity>[] {
  return [
    { id: "activity", label: "Activity", width: "55%", cell: (row) => <span title={nameOf(row)}>{nameOf(row)}</span>, order: nameOf },
    { id: "bar", label: "", cell: (row) => <InlineBar pieces={[{ share: row.ns_per_batch / longest, colour: row.name === null ? "other" : "cpu" }]} /> },
    { id: "batch", label: "A batch", width: "72px", numeric: true, cell: (row) => ns(row.ns_per_batch), order: (row) => row.ns_per_batch },
  ];
}
