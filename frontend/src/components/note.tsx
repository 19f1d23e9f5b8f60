import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import type { NoteText } from "../api.gen";
import { counted } from "../format";
import { Sentence } from "./sentence";

/** A bold cause, then which figures it touches and how. Stands above the picture that it qualifies. */
export function Note({
  cause,
  children,
  live = false,
}: {
  cause: ComponentChildren;
  children: ComponentChildren;
  live?: boolean;
}) {
  return (
    <p class="note" role={live ? "status" : undefined}>
      <span>
        <b>{cause}</b> {children}
      </span>
    </p>
  );
}

/** More lines than two would push the figures out of sight. */
const NOTE_LINES = 2;

interface NotesProps {
  notes: readonly NoteText[];
  /** What can be done about a note, by its id. */
  actions?: Readonly<Record<string, ComponentChildren>>;
  /** Lines above that say such things too. */
  above?: number;
}

/** At most two lines with those above, at least one note; the rest fold into a button at its end. */
export function Notes({ notes, actions = {}, above = 0 }: NotesProps) {
  const [open, setOpen] = useState(false);
  const shown = open ? notes : notes.slice(0, Math.max(1, NOTE_LINES - above));
  const more = notes.length - shown.length;
  return (
    <>
      {shown.map((note, at) => (
        <Note key={note.id} cause={<Sentence phrase={note.cause} terms />}>
          <Sentence phrase={note.effect} terms />
          {actions[note.id] && <> {actions[note.id]}</>}
          {more > 0 && at === shown.length - 1 && (
            <>
              {" "}
              <button class="more" onClick={() => setOpen(true)}>
                {counted(more, "more note")}
              </button>
            </>
          )}
        </Note>
      ))}
    </>
  );
}
