/** What changed from one run to another: by how much, of what, and whether it is more than noise. */

import { useMemo } from "preact/hooks";
import type { ComparePage, Contribution, KernelChange, Waterfall } from "../api.gen";
import { Notes } from "../components/note";
import { Sentence } from "../components/sentence";
import { type Column, Table } from "../components/table";
import { counted, DASH, ns } from "../format";
import { type AnswerCache, useAnswer } from "../server/use_answer";
import { sorting } from "./choices";
import type { SpanViewProps, Tab } from "./props";

export function Comparison({ page, tab, compared }: SpanViewProps<"compare">) {
  return (
    <div class="view" data-view="compare">
      {compared === null ? (
        <p>Choose in the bar above which run to compare with: “compare with”.</p>
      ) : (
        <Compared base={compared.page.head.id} candidate={page.head.id} tab={tab} />
      )}
    </div>
  );
}

function Compared({ base, candidate, tab }: { base: string; candidate: string; tab: Tab }) {
  const cache = useMemo((): AnswerCache => new Map(), []);
  const { answer } = useAnswer(cache, `${base} ${candidate}`, tab.index.version, (signal) =>
    tab.comparisons.compare(base, candidate, signal),
  );
  return answer?.kind === "ready" ? <Changes found={answer.value} tab={tab} /> : null;
}

function Changes({ found, tab }: { found: ComparePage; tab: Tab }) {
  const { waterfalls, kernels } = found.comparison;
  return (
    <>
      <p class="lead">
        <Sentence phrase={found.headline} />
      </p>
      <Notes notes={found.warnings} />
      {waterfalls.slice(0, 1).map((waterfall) => (
        <Parts key={waterfall.by} waterfall={waterfall} labels={found.labels} />
      ))}
      {kernels.length > 0 && <Kernels rows={kernels} tab={tab} />}
    </>
  );
}

function Parts({ waterfall, labels }: { waterfall: Waterfall; labels: Readonly<Record<string, string>> }) {
  const columns: Column<Contribution>[] = [
    { id: "part", label: "Part", cell: ({ id }) => labels[id] ?? id },
    { id: "base", label: "Base", numeric: true, width: "112px", cell: (row) => ns(row.base_ns) },
    { id: "candidate", label: "Candidate", numeric: true, width: "112px", cell: (row) => ns(row.candidate_ns) },
    { id: "change", label: "Change", numeric: true, width: "112px", cell: (row) => ns(changeOf(row)) },
  ];
  return (
    <section>
      <h2>What the mean step is made of</h2>
      <Table
        label="Parts of the mean step"
        columns={columns}
        rows={waterfall.rows}
        rowKey={({ id }) => id}
        sort={undefined}
        onSort={null}
      />
    </section>
  );
}

function Kernels({ rows, tab }: { rows: readonly KernelChange[]; tab: Tab }) {
  const columns: Column<KernelChange>[] = [
    { id: "base_name", label: "Base", cell: (row) => row.base_short ?? DASH },
    { id: "candidate_name", label: "Candidate", cell: (row) => row.candidate_short ?? DASH },
    { id: "matched", label: "Matched by", width: "112px", cell: (row) => row.matched_by.replaceAll("_", " ") },
    { id: "change", label: "Change", numeric: true, width: "112px", cell: (row) => ns(changeOf(row)), order: changeOf },
  ];
  return (
    <section>
      <h2>{counted(rows.length, "kernel")}, most change first</h2>
      <Table
        label="Kernels by change"
        columns={columns}
        rows={rows}
        rowKey={(row) => [row.base_name, row.candidate_name, row.op, row.shapes, row.module, row.matched_by].join()}
        {...sorting(tab, "sort")}
      />
    </section>
  );
}

const changeOf = ({ base_ns, candidate_ns }: { base_ns: number; candidate_ns: number }) => candidate_ns - base_ns;
