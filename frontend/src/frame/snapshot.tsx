/** A memory snapshot, in place of the Memory view of a recording. */

import type { Address } from "../address/keys";
import type { Index, SnapshotEntry, SnapshotPage } from "../api.gen";
import { Late } from "../components/waiting";
import { bytes } from "../format";
import type { Client } from "../server/client";
import { failureOf, type Requested, type Source, useAnswer } from "../server/use_answer";
import { Boundary, Failed, Gone, Opening } from "../states/states";
import { laterView } from "../views/later_view";
import { nameOf } from "../views/memory/snapshot/choice";
import type { Tab } from "../views/props";
import { usePartOf, withPart } from "./lazy_views";
import { CONTENT, Top, WithFoot } from "./top";
import { ViewList } from "./views";

const PART = laterView(async () => (await import("../views/memory/snapshot/snapshot")).Snapshot);

/** As many bins as a wide picture has pixels. */
const BINS = 1_600;

/** The snapshot that the address names; where there are no recordings, else the last one. */
export function shownSnapshot(index: Index, state: Address, client: Client): SnapshotEntry | null {
  if (!client.snapshot) return null;
  const named = index.snapshots.find(({ id }) => id === state.snapshot);
  if (index.spans_total === 0) return named ?? index.snapshots.at(-1) ?? null;
  return state.view === "memory" ? (named ?? null) : null;
}

export function SnapshotContent({ entry, tab, source }: { entry: SnapshotEntry; tab: Tab; source: Source }) {
  const request = withPart<SnapshotPage>(useSnapshot(entry, tab, source), usePartOf("snapshot", PART, source.cache));
  const { answer, again } = request;
  const View = PART.now();
  const listed = tab.index.spans_total > 0;
  const name = nameOf(entry);
  const failed = failureOf(request);
  const ready = answer?.kind === "ready" && View !== null;
  return (
    <>
      {listed && <ViewList current="memory" meanings={tab.meanings} head={null} tab={tab} />}
      <main
        id={CONTENT}
        class={listed ? undefined : "wide"}
        data-state={ready ? "ready" : failed ? "failed" : "reading"}
        tabIndex={-1}
      >
        {!failed && <Gone source={source} />}
        {ready ? (
          <Boundary name={entry.id} about={entry.file}>
            <WithFoot about={about(entry, tab)}>
              <p class="job">Memory snapshot · {entry.file}</p>
              <Top headline={answer.value.headline} tab={tab} />
              <View page={answer.value} entry={entry} tab={tab} />
            </WithFoot>
          </Boundary>
        ) : failed ? (
          <Failed title={`The snapshot ${name} cannot be shown.`} {...failed} about={entry.file} again={again} />
        ) : (
          <Late meanwhile={<h1 class="visually-hidden">Opening.</h1>}>
            <Opening title={`Opening ${name}`} reads={`Reading a memory snapshot of ${bytes(entry.file_bytes)}.`} />
          </Late>
        )}
      </main>
    </>
  );
}

/** The previous answer stays until the one for the new window or moment arrives. */
function useSnapshot(
  { id, written_ns }: SnapshotEntry,
  { state }: Tab,
  { client, cache }: Source,
): Requested<SnapshotPage> {
  const { zoom, instant, since, memory = 0 } = state;
  const query = {
    device: String(memory),
    bins: String(BINS),
    ...(zoom && { from: String(Math.round(zoom.from)), to: String(Math.round(zoom.to)) }),
    ...(instant !== undefined && { at: String(instant) }),
    ...(since !== undefined && { since }),
  };
  return useAnswer(
    cache,
    ["snapshot", id, ...Object.values(query)].join(" "),
    String(written_ns),
    (signal) => client.snapshot!(id, query, signal),
    `${id} ${memory}`,
  );
}

const about = ({ run, name, file }: SnapshotEntry, { meanings: { version }, address }: Tab) => ({
  view: "memory",
  version,
  link: () => address(),
  recording: `${run} ${name}`,
  words: [file],
});
