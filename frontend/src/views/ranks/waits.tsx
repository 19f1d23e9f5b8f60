/** Who waits for whom: the own time of each rank, its waits, and how long it makes the others wait. */

import type { JobRanks, LateRank, Phrase, RankRow, RanksPage } from "../../api.gen";
import { Remark, Sentence } from "../../components/sentence";
import type { Column } from "../../components/table";
import { columnHead, type Meanings } from "../../meanings";
import { sentence } from "../../phrase";
import { type Tab, titleOf } from "../props";
import { barColumn, figuresOf, TablePicture } from "../table_picture";
import { RankLegend } from "./charts/lanes";
import type { MapRow } from "./rows";

interface WaitsProps {
  page: RanksPage;
  job: JobRanks;
  rows: readonly MapRow[];
  /** Opens the views of a rank. */
  choose(row: MapRow): void;
  tab: Tab;
}

interface WaitRow {
  rank: RankRow;
  map: MapRow;
  own_ns: number;
  wait_ns: number;
  tokens: number | null;
  late: LateRank | null;
  why: Phrase | null;
}

export function Waits({ page, job, rows, choose, tab }: WaitsProps) {
  const figures = rowsWith(page, job, rows);
  const matched = job.matched_steps > 0;
  return (
    <TablePicture
      title={titleOf(page, "waits")}
      sub="a step"
      name="waits by rank"
      label="Waits by rank"
      columns={columnsOf(job, tab.meanings, choose)}
      file={[{ label: "Worker", of: ({ rank }) => rank.worker }]}
      rows={figures}
      rowKey={({ map }) => map.span}
      maxRows={12}
      order={["rank_waits", matched ? "-caused" : "-step"]}
      tab={tab}
      above={matched && <RankLegend comm="makes another rank wait" />}
    >
      {job.balance === "imbalance" && <Turns turns={page.turns} />}
      {page.experts.map((each) => (
        <Remark key={each.template} phrase={each} class="quiet small" />
      ))}
    </TablePicture>
  );
}

/**
 * Ranks that are late in turn: each is late in different steps, so their means say little. Shows what takes longer in
 * the late rank of each step than in the others.
 */
const Turns = ({ turns }: { turns: readonly Phrase[] }) => (
  <p class="quiet small">
    {turns.length === 0
      ? "The traces do not show why the late rank of a step is late."
      : "The late rank of each step, compared with the others in it: "}
    {turns.map((each, at) => (
      <span key={each.template}>
        <Sentence phrase={each} />
        {at + 1 < turns.length ? "; " : "."}
      </span>
    ))}
  </p>
);

function rowsWith({ causes }: RanksPage, { ranks, late, matched_steps: steps }: JobRanks, rows: readonly MapRow[]) {
  return ranks.map((rank, at): WaitRow => {
    const place = late.findIndex((each) => each.rank === rank.rank);
    const wait_ns = steps > 0 ? rank.exposed_wait_ns / steps : 0;
    return {
      rank,
      map: rows[at]!,
      own_ns: Math.max(0, rank.mean_step_ns - wait_ns),
      wait_ns,
      tokens: rank.tokens_received && rank.tokens_received / steps,
      late: late[place] ?? null,
      why: causes[place] ?? null,
    };
  });
}

function columnsOf(job: JobRanks, meanings: Meanings, choose: WaitsProps["choose"]): Column<WaitRow>[] {
  const matched = job.matched_steps > 0;
  const longest = Math.max(1, ...job.ranks.map(({ mean_step_ns }) => mean_step_ns));
  const figure = figuresOf<WaitRow>(meanings);
  const time = (id: string, metric: string, of: (row: WaitRow) => number | null, width = 84) =>
    figure(id, metric, width, of, { siblings: "time" });
  const hosts = new Set(job.ranks.map(({ host }) => host)).size > 1;
  const why: Column<WaitRow> = {
    id: "why",
    ...columnHead(meanings, "rank_why"),
    hint: ({ why }) => why && sentence(why),
    missing: "It is not among the ranks that the others wait for.",
    order: ({ why }) => why && sentence(why),
  };
  const host: Column<WaitRow> = {
    id: "host",
    ...columnHead(meanings, "rank_host"),
    width: "104px",
    order: ({ rank }) => rank.host,
  };
  const causedBar = ({ map }: WaitRow) => [{ share: (map.makes_wait_ns ?? 0) / longest, colour: "comm" }];
  const waits: Column<WaitRow>[] = [
    time("own", "rank_own_ns", ({ own_ns }) => own_ns),
    time("wait", "rank_wait_ns", ({ wait_ns }) => wait_ns),
    barColumn(
      ({ own_ns, wait_ns }) => [
        { share: own_ns / longest, colour: "kernel" },
        { share: wait_ns / longest, colour: "comm", hatched: true },
      ],
      "108px",
    ),
    time("caused", "rank_caused_ns", ({ map }) => map.makes_wait_ns, 116),
    { ...barColumn(causedBar, "108px"), id: "caused_bar" },
    figure("last", "rank_last", 76, ({ rank }) => (rank.matched > 0 ? rank.last / rank.matched : null)),
    ...(job.tokens[0] ? [figure("tokens", "rank_tokens", 76, ({ tokens }) => tokens)] : []),
    ...(job.ranks.some(({ experts }) => experts)
      ? [figure("busiest_expert", "rank_busiest_expert", 76, ({ rank }) => rank.experts?.busiest ?? null)]
      : []),
    ...(job.balance === "imbalance" ? [] : [why]),
  ];
  return [
    {
      id: "rank",
      ...columnHead(meanings, "rank_rank"),
      width: "72px",
      cell: ({ map }) => (
        <button class="link" onClick={() => choose(map)}>
          {map.name}
        </button>
      ),
      order: ({ rank }) => rank.rank,
    },
    ...(hosts ? [host] : []),
    time("step", "rank_step_ns", ({ rank }) => rank.mean_step_ns),
    ...(matched ? waits : []),
  ];
}
