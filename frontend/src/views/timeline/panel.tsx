/** The event that was chosen: its facts, what it is tied to, and why the device was idle before it. */

import type { ComponentChildren } from "preact";
import { useRef } from "preact/hooks";
import type { EventDetail, EventLink, Quantity } from "../../api.gen";
import { CopyButton } from "../../components/copy";
import { Sentence } from "../../components/sentence";
import { useFocusBack } from "../../dom/focus_back";
import { hint } from "../../dom/hint";
import { count, fine, shortened, text } from "../../format";
import type { Asked } from "./data/detail";

interface PanelProps {
  /** In the place of the hints; above the chosen event where there is one. */
  above?: ComponentChildren;
  asked: Asked;
  /** Events that stand together in the box that was pressed; 1 where it is one. */
  together: number;
  origin_ns: number;
  go(link: EventLink): void;
  zoom(): void;
  close(): void;
}

export function Panel({ above, asked, together, origin_ns, go, zoom, close }: PanelProps) {
  return (
    <section class="event" aria-label="The chosen event" aria-live="polite">
      {above}
      {asked?.answer.kind === "ready" ? (
        <Event
          detail={asked.answer.value}
          together={together}
          origin_ns={origin_ns}
          go={go}
          zoom={zoom}
          close={close}
        />
      ) : (
        !(asked === null && above) && <p class="quiet small">{asked === null ? <Hints /> : notThere(asked)}</p>
      )}
    </section>
  );
}

function notThere({ answer }: NonNullable<Asked>): string {
  switch (answer.kind) {
    case "waiting":
      return "The trace file is read again, to show its single events.";
    case "problem":
      return `${answer.value.problem}. ${answer.value.hint}`;
    case "gone":
      return `${answer.value.problem}. The tab goes on asking.`;
    case "ready":
      return "";
    default:
      return answer satisfies never;
  }
}

/** In the panel's place while nothing is chosen. */
function Hints() {
  return (
    <>
      Click an event to see what it is, what launched it, and why the GPU was idle before it. Drag to move;{" "}
      <kbd>Ctrl</kbd> and the wheel zoom; a drag on the time axis zooms to a range; a double click shows the whole step
      again. Click the name of a track to open or fold it. Keys: <kbd>W</kbd> <kbd>S</kbd> zoom, <kbd>A</kbd>{" "}
      <kbd>D</kbd> move, <kbd>[</kbd> <kbd>]</kbd> change the step, <kbd>/</kbd> finds events, <kbd>?</kbd> shows all
      keys.
    </>
  );
}

const TITLE_LETTERS = 110;

function Event({
  detail,
  together,
  origin_ns,
  go,
  zoom,
  close,
}: Omit<PanelProps, "asked" | "above"> & { detail: EventDetail }) {
  const { name, facts, links, why_gap: why } = detail;
  const head = useRef<HTMLDivElement>(null);
  useFocusBack(head);
  return (
    <>
      <div class="head" ref={head}>
        <h2 {...hint(name)}>{shortened(name, TITLE_LETTERS)}</h2>
        {together > 1 && <span class="sub">the longest of {count(together)} events drawn as one</span>}
        <CopyButton class="button low" text={() => name}>
          Copy the name
        </CopyButton>
        <button class="button low" onClick={zoom}>
          Zoom to it
        </button>
        <button class="button low" onClick={close}>
          Close
        </button>
      </div>
      <div class="columns">
        <dl class="traits">
          <Fact label="Start in the step" value={fine(detail.start_ns - origin_ns)} />
          {facts.map((fact, at) => (
            <Fact key={at} label={fact.label} value={factText(fact.value)} />
          ))}
        </dl>
        <div>
          {why && (
            <p class="why">
              <Sentence phrase={why} />
            </p>
          )}
          <Links links={links} go={go} />
        </div>
      </div>
    </>
  );
}

/** Label and value with more letters take the room of two. */
const LONG_LETTERS = 29;

function Fact({ label, value }: { label: string; value: string }) {
  return (
    <div class={label.length + value.length > LONG_LETTERS ? "long" : ""}>
      <dt>{label}</dt>
      <dd {...hint(value)}>{value}</dd>
    </div>
  );
}

/** Lengths of single events are given more finely than means over steps. */
function factText({ value, unit }: Quantity): string {
  if (typeof value === "string") return value;
  return unit === "ns" && value !== null ? fine(value) : text(value, unit);
}

const LINK_LETTERS = 56;

function Links({ links, go }: { links: readonly EventLink[]; go(link: EventLink): void }) {
  return (
    <ul class="ties">
      {links.map((link, at) => (
        <li key={at}>
          <span class="quiet">{link.role}</span>
          <button class="tie" data-hint={link.name} onClick={() => go(link)}>
            {shortened(link.name, LINK_LETTERS)}
          </button>
          <span class="faint">{fine(link.end_ns - link.start_ns)}</span>
        </li>
      ))}
    </ul>
  );
}
