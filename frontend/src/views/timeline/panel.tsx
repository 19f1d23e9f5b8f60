/** The chosen event: its facts, what it is linked to, and why the device was idle before it. */

import type { ComponentChildren } from "preact";
import { useRef } from "preact/hooks";
import type { EventDetail, EventLink, Quantity, TimelineStep } from "../../api.gen";
import { lineName } from "../../code_line";
import { CopyButton } from "../../components/copy";
import { Details, Remark } from "../../components/sentence";
import { textOf } from "../../components/waiting";
import { hint } from "../../dom/hint";
import { useFocusBack } from "../../dom/hooks";
import { count, fine, text } from "../../format";
import { type AnsweredDetail, SOURCE_LINES } from "./data/detail";

interface EventProps {
  detail: EventDetail;
  /** The number of events merged in the box that was clicked; 1 where it is a single one. */
  together: number;
  steps: readonly TimelineStep[];
  /** Where the recording begins. */
  first_ns: number;
  go(link: EventLink): void;
  /** Shows frames that are folded away. */
  unfold(): void;
  zoom(): void;
  /** Shows a line of code, given as tables name it. */
  openLine(source: string): void;
  close(): void;
}

interface PanelProps extends Omit<EventProps, "detail"> {
  /** Shown in place of the hints; above the chosen event where there is one. */
  above?: ComponentChildren;
  request: AnsweredDetail;
}

/** Esc within the panel closes it, too. */
export function Panel({ above, request, ...props }: PanelProps) {
  const closing = (event: KeyboardEvent) => {
    if (event.key !== "Escape" || request === null || event.defaultPrevented) return;
    event.preventDefault();
    props.close();
  };
  return (
    <section class="event" aria-label="The chosen event" aria-live="polite" onKeyDown={closing}>
      {above}
      {request?.answer.kind === "ready" ? (
        <Event detail={request.answer.value} {...props} />
      ) : (
        !(request === null && above) && <p class="quiet small">{request === null ? <Hints /> : notThere(request)}</p>
      )}
    </section>
  );
}

function notThere({ answer }: NonNullable<AnsweredDetail>): string {
  switch (answer.kind) {
    case "waiting":
      return "The trace file is read again, to show its single events.";
    case "problem":
      return textOf(answer.value);
    case "gone":
      return `${answer.value.problem}. The tab goes on asking.`;
    case "ready":
      return "";
    default:
      return answer satisfies never;
  }
}

/** The most used keys; the list of shortcuts has all. */
const GESTURES =
  "Drag to move, Ctrl and the wheel to zoom, Shift and drag to measure; click the name of a track to fold or pin it. " +
  "Keys: W and S zoom, A and D move, ? lists all.";

function Hints() {
  return (
    <>
      Click an event to see its launch and the wait before it.
      <Details text={GESTURES} />
    </>
  );
}

function Event({ detail, together, steps, first_ns, go, unfold, zoom, openLine, close }: EventProps) {
  const { name, short_name, kind, on, facts, links, why_gap: why } = detail;
  const head = useRef<HTMLDivElement>(null);
  useFocusBack(head);
  return (
    <>
      <div class="head" ref={head}>
        <h2 {...hint(lineName(short_name))}>{lineName(short_name)}</h2>
        <span class="sub">
          {kind} · {on}
          {together > 1 && `, the longest of ${count(together)} events drawn as one`}
        </span>
        <CopyButton class="button low" text={() => name}>
          Copy the name
        </CopyButton>
        <button class="button low" onClick={zoom}>
          Zoom to it
        </button>
        <button class="button low" data-hint="Key Esc" onClick={close}>
          Close
        </button>
      </div>
      {name !== short_name && <p class="whole">{name}</p>}
      {detail.row < 0 && <FoldedAway unfold={unfold} />}
      <div class="columns">
        <dl class="traits">
          {starts(detail.start_ns, steps, first_ns).map(([label, after_ns]) => (
            <Fact key={label} label={label} value={fine(after_ns)} />
          ))}
          {facts.map((fact, at) => (
            <Fact
              key={at}
              label={fact.label}
              value={lineName(factText(fact.value))}
              copied={fact.copied}
              open={SOURCE_LINES.includes(fact.label) ? () => openLine(String(fact.value.value)) : undefined}
            />
          ))}
        </dl>
        <div>
          <Remark phrase={why} class="why" />
          <Links links={links} go={go} />
        </div>
      </div>
    </>
  );
}

/** The start, counted from the beginning of its step, where it is in one, and of the recording. */
function starts(start_ns: number, steps: readonly TimelineStep[], first_ns: number): [string, number][] {
  const step = steps.find((each) => each.start_ns <= start_ns && start_ns < each.end_ns);
  const inStep: [string, number][] = step ? [[`Start in step ${step.name}`, start_ns - step.start_ns]] : [];
  return [...inStep, ["Start in the recording", start_ns - first_ns]];
}

function FoldedAway({ unfold }: { unfold(): void }) {
  return (
    <p class="quiet small">
      Folded away in the picture: it is not of your own code.{" "}
      <button class="link" onClick={unfold}>
        Show all Python frames
      </button>
    </p>
  );
}

/** A label and value with more letters take two columns; with more letters than fit there, the whole width. */
const LONG_LETTERS = 29;
const WHOLE_LETTERS = 60;

interface FactProps {
  label: string;
  value: string;
  copied?: string | null;
  /** Opens the place with more about it. */
  open?: (() => void) | undefined;
}

function Fact({ label, value, copied = null, open }: FactProps) {
  const letters = label.length + value.length + (copied === null ? 0 : 8);
  return (
    <div class={letters > WHOLE_LETTERS ? "widest" : letters > LONG_LETTERS ? "long" : ""}>
      <dt>{label}</dt>
      <dd>
        {open ? (
          <button class="link" onClick={open}>
            {value}
          </button>
        ) : (
          value
        )}
        {copied !== null && (
          <CopyButton class="link" text={() => lineName(copied)}>
            Copy
          </CopyButton>
        )}
      </dd>
    </div>
  );
}

/** Durations of single events are given with more digits than means over steps. */
function factText({ value, unit }: Quantity): string {
  if (typeof value === "string") return value;
  return unit === "ns" && value !== null ? fine(value) : text(value, unit);
}

function Links({ links, go }: { links: readonly EventLink[]; go(link: EventLink): void }) {
  return (
    <ul class="ties">
      {links.map((link, at) => (
        <li key={at}>
          <span class="quiet">{link.role}</span>
          <button class="tie" onClick={() => go(link)}>
            {lineName(link.name)}
          </button>
          <span class="faint">{fine(link.end_ns - link.start_ns)}</span>
        </li>
      ))}
    </ul>
  );
}
