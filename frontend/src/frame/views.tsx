/** The list of views, each with how much of the step it explains, and where the figures come from. */

import { Fragment } from "preact";
import { useEffect, useRef } from "preact/hooks";
import type { SidebarShare, SpanHead, ViewId } from "../api.gen";
import { fillClass } from "../colour";
import { hint } from "../dom/hint";
import { followed } from "../dom/keys";
import { bytes, count, counted, DASH, date, recordedOn, share } from "../format";
import type { Meanings } from "../meanings";
import { sentence } from "../phrase";
import type { Tab } from "../views/props";
import { type KeyedView, keyedViews, viewAlone } from "./view_keys";

interface ViewListProps {
  current: ViewId;
  meanings: Meanings;
  /** The facts of the span; null while it is not read. */
  head: SpanHead | null;
  tab: Pick<Tab, "update" | "address" | "written_ms">;
}

export function ViewList({ current, meanings, head, tab }: ViewListProps) {
  const views = keyedViews({ meanings });
  const explainsPart = (id: string) => id !== "overview" && id !== "trends";
  const shareOf = (view: KeyedView) =>
    explainsPart(view.id) && view.share !== "" ? (head?.sidebar[view.id] ?? null) : undefined;
  const entry = (view: KeyedView) => (
    <ViewLink
      key={view.id}
      title={view.title}
      keyed={view.key}
      shareMeaning={view.share}
      word={SHARE_WORDS[view.id]}
      current={view.id === current}
      sidebarShare={shareOf(view)}
      meanings={meanings}
      address={tab.address(viewAlone(view.id))}
      open={() => tab.update(viewAlone(view.id))}
    />
  );
  const list = useRef<HTMLElement>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: in a list of one line the view that was opened is shown
  useEffect(() => {
    list.current?.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });
  }, [current]);
  const whole = views.filter((view) => !explainsPart(view.id));
  const parts = views.filter((view) => explainsPart(view.id));
  const unmeasured = parts.find((view) => shareOf(view) === undefined);
  return (
    <nav class="views" aria-label="Views" ref={list}>
      {whole.map(entry)}
      <hr />
      {parts.map((view) => (
        <Fragment key={view.id}>
          {view === unmeasured && <hr />}
          {entry(view)}
        </Fragment>
      ))}
      {head && <Origin head={head} written_ms={tab.written_ms} />}
    </nav>
  );
}

interface ViewLinkProps {
  title: string;
  keyed: string | undefined;
  current: boolean;
  /** Undefined: the view explains the whole step. Null: not known yet. */
  sidebarShare: SidebarShare | null | undefined;
  shareMeaning: string;
  word: string | undefined;
  meanings: Meanings;
  address: string;
  open(): void;
}

function ViewLink(props: ViewLinkProps) {
  const { title, keyed, current, sidebarShare, shareMeaning, word, meanings, address, open } = props;
  return (
    <a
      href={address}
      aria-current={current ? "page" : undefined}
      aria-keyshortcuts={keyed}
      data-hint={[
        ...(sidebarShare ? [titleOf(sidebarShare, shareMeaning, meanings)] : []),
        ...(keyed ? [`Key ${keyed}`] : []),
      ].join("\n")}
      onClick={followed(open)}
    >
      <span class="clip">{title}</span>
      {sidebarShare && (
        <>
          {!word && <ShareRail {...sidebarShare} />}
          <span class={word ? "share worded" : "share"}>
            {sidebarShare.share === null ? DASH : share(sidebarShare.share)}
            {sidebarShare.share !== null && word && ` ${word}`}
          </span>
        </>
      )}
    </a>
  );
}

/** A bare "0 %" beside tensor cores would read as their share of the work, which a tile of the overview gives. */
const SHARE_WORDS: Partial<Record<string, string>> = { tensor_cores: "missed" };

/** The meaning of the share; where it is not known, the reason. */
const titleOf = ({ reason, meaning: own }: SidebarShare, usual: string, meanings: Meanings): string =>
  [own ? sentence(own) : usual, reason ? sentence(meanings.explain(reason)) : SHARES_OF].filter(Boolean).join("\n");

/** What all shares have in common. */
const SHARES_OF = "Two views may explain the same time of the mean step, so the shares have no sum.";

/** A shorter rail would be a dot. */
const LEAST_SHARE = 0.01;

function ShareRail({ share: part, colour, hatched }: SidebarShare) {
  return part !== null && part >= LEAST_SHARE ? (
    <span class="share-bar">
      <i class={fillClass(colour, hatched)} style={{ width: `${100 * Math.min(1, part)}%` }} />
    </span>
  ) : null;
}

const stepsOf = ({ step_count: steps, steps_by: by }: SpanHead): string =>
  by === "recording" ? "the recording as one step" : counted(steps, by === "inferred" ? "inferred step" : "step");

function Origin({ head, written_ms }: { head: SpanHead; written_ms: number | undefined }) {
  const ranks =
    head.world_size === null ? (head.rank === null ? [] : [`rank ${head.rank}`]) : [rankOf(head.rank, head.world_size)];
  const machine = [...(head.job.units === null ? [] : [sentence(head.job.units)]), ...ranks].join(", ");
  return (
    <p class="origin" {...hint(head.file)}>
      <b>{sentence(head.job.machine)}</b>
      {machine && (
        <>
          {machine}
          <br />
        </>
      )}
      {[stepsOf(head), recordedOn(head.origin_ns)].filter(Boolean).join(", ")}
      <br />
      {count(head.events)} events, {bytes(head.file_bytes)}
      {written_ms !== undefined && (
        <>
          <br />
          Report of {date(1e6 * written_ms)}
        </>
      )}
    </p>
  );
}

const rankOf = (rank: number | null, ranks: number): string =>
  ranks === 1 || rank === null ? counted(ranks, "rank") : `rank ${rank} of ${count(ranks)}`;
