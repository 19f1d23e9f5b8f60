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

/** More notes than two would push the figures out of sight. */
const SHOWN = 2;

interface NotesProps {
  notes: readonly NoteText[];
  /** What can be done about a note, by its id. */
  actions?: Readonly<Record<string, ComponentChildren>>;
}

/** At most two notes; the rest fold into one line. */
export function Notes({ notes, actions = {} }: NotesProps) {
  const [open, setOpen] = useState(false);
  const shown = open ? notes : notes.slice(0, SHOWN);
  const more = notes.length - shown.length;
  return (
    <>
      {shown.map((note) => (
        <Note key={note.id} cause={<Sentence phrase={note.cause} terms />}>
          <Sentence phrase={note.effect} terms />
          {actions[note.id] && <> {actions[note.id]}</>}
        </Note>
      ))}
      {more > 0 && (
        <p class="note">
          <button class="more" onClick={() => setOpen(true)}>
            {counted(more, "more note")}
          </button>
        </p>
      )}
    </>
  );
}
