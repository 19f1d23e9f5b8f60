/** Messages above the figures: notes, and what is wrong with the recording. */

import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import type { Evidence, FindingText, NoteText } from "../api.gen";
import { counted } from "../format";
import { sentence } from "../phrase";
import { Details, Sentence } from "./sentence";

/** A cause in bold, then which figures it affects and how. It is placed above the picture that it qualifies. */
export function Note(props: { cause: ComponentChildren; children: ComponentChildren; live?: boolean }) {
  const { cause, children, live = false } = props;
  return (
    <p class="note" role={live ? "status" : undefined}>
      <span>
        <b>{cause}</b> {children}
      </span>
    </p>
  );
}

/** More notes would push the figures out of sight. */
const NOTES = 2;

interface NotesProps {
  notes: readonly NoteText[];
  /** What can be done about a note, by its id. */
  actions?: Readonly<Record<string, ComponentChildren>>;
  /** The number of lines above that contain similar messages. */
  above?: number;
}

/**
 * Says the causes in a row, with their effects in hints: at most two notes including those above, but at least one; the
 * rest is behind a button at the end.
 */
export function Notes({ notes, actions = {}, above = 0 }: NotesProps) {
  const [open, setOpen] = useState(false);
  const shown = open ? notes : notes.slice(0, Math.max(1, NOTES - above));
  const more = notes.length - shown.length;
  if (notes.length === 0) return null;
  return (
    <div class="notes">
      {shown.map(({ id, cause, effect, more: rest }) => (
        <Note key={id} cause={<Sentence phrase={cause} terms />}>
          <Details
            text={[effect, rest]
              .map((each) => each && sentence(each))
              .filter(Boolean)
              .join(" ")}
          />
          {actions[id]}
        </Note>
      ))}
      {more > 0 && (
        <button class="link" onClick={() => setOpen(true)}>
          {counted(more, "more note")}
        </button>
      )}
    </div>
  );
}

/** More lines would push the figures out of sight. */
const LINES = 4;

interface QualityProps {
  findings: readonly FindingText[];
  /** Opens the timeline where a finding is visible. */
  show: (range: Evidence) => void;
}

/**
 * What is wrong with the recording, one line each, and last what can be trusted. It takes no space where nothing is
 * wrong.
 */
export function Quality({ findings, show }: QualityProps) {
  const [open, setOpen] = useState(false);
  if (findings.length === 0) return null;
  const trust = findings.filter((line) => line.id === "trust");
  const found = findings.filter((line) => line.id !== "trust");
  const shown = open || findings.length <= LINES ? found : found.slice(0, LINES - trust.length);
  const more = found.length - shown.length;
  return (
    <section class="quality" aria-label="Data quality">
      {[...shown, ...trust].map((line) => (
        <p key={line.id}>
          <span class="done">{line.label}</span>
          <span>
            {line.cause.template !== "" && (
              <b>
                <Sentence phrase={line.cause} terms />
              </b>
            )}{" "}
            <Sentence phrase={line.effect} terms />
            {more > 0 && line === shown.at(-1) && (
              <>
                {" "}
                <button class="link" onClick={() => setOpen(true)}>
                  {more} more
                </button>
              </>
            )}
          </span>
          {line.evidence[0] && (
            <button class="link" onClick={() => line.evidence[0] && show(line.evidence[0])}>
              {line.evidence.length > 1 ? "Longest in Timeline" : "In Timeline"}
            </button>
          )}
        </p>
      ))}
    </section>
  );
}
