/** The parts of the step: name, time, share. It also is the legend of every stacked picture: a part can be hidden. */

import { sum } from "d3-array";
import { useState } from "preact/hooks";
import type { PartMeaning, Phrase } from "../api.gen";
import { fillClass } from "../colour";
import { DASH, percent, type Scale } from "../format";
import { sentence } from "../phrase";

interface LegendPart {
  meaning: Pick<PartMeaning, "id" | "label" | "meaning" | "colour" | "hatched">;
  ns: number;
  share: number;
  /** Why the part has no length in this span. */
  absent?: Phrase | undefined;
}

interface LegendProps {
  label: string;
  parts: readonly LegendPart[];
  scale: Scale;
  off: ReadonlySet<string>;
  /** Receives what is hidden after a click. */
  choose(off: ReadonlySet<string>): void;
}

/** Parts of a smaller share can hardly be seen: they are summed up in one entry, and a click lists them. */
const LEAST = 0.01;

export function Legend({ label, parts, scale, off, choose }: LegendProps) {
  const ids = parts.map((part) => part.meaning.id);
  const small = parts.filter(({ share, absent }) => share < LEAST && !absent);
  const folded = small.length > 1 ? small : [];
  const [all, showAll] = useState(folded.some(({ meaning: { id } }) => off.has(id)));
  const entry = (part: LegendPart) => (
    <li key={part.meaning.id}>
      <LegendButton
        part={part}
        scale={scale}
        off={off.has(part.meaning.id)}
        press={(alone) => choose(alone ? onlyThis(part.meaning.id, ids, off) : toggled(part.meaning.id, off))}
      />
    </li>
  );
  return (
    <ul class="parts" aria-label={label}>
      {parts.filter((part) => !folded.includes(part)).map(entry)}
      {folded.length > 0 && (
        <li>
          <button
            aria-expanded={all}
            data-hint={folded.map(({ meaning, ns }) => `${meaning.label} ${scale.text(ns)}`).join("\n")}
            onClick={() => showAll(!all)}
          >
            <span class="k">{folded.length} parts under 1 %</span>
            <span class="v">
              {scale.text(sum(folded, ({ ns }) => ns))}
              <span>{percent(sum(folded, ({ share }) => share))}</span>
            </span>
          </button>
        </li>
      )}
      {all && folded.map(entry)}
    </ul>
  );
}

interface LegendButtonProps {
  part: LegendPart;
  scale: Scale;
  off: boolean;
  press(alone: boolean): void;
}

function LegendButton({ part: { meaning, ns, share, absent }, scale, off, press }: LegendButtonProps) {
  const hollow = off || absent !== undefined;
  return (
    <button
      class={off ? "off" : ""}
      aria-pressed={absent ? undefined : !off}
      aria-disabled={absent ? true : undefined}
      data-hint={`${meaning.meaning}${absent ? ` Here: ${sentence(absent)}` : " Double click shows it alone."}`}
      onClick={(event) => !absent && press(event.altKey)}
      onDblClick={() => !absent && press(true)}
    >
      <span class="k">
        <i class={`swatch ${hollow ? "hollow" : fillClass(meaning.colour, meaning.hatched)}`} />
        {meaning.label}
      </span>
      <span class="v">
        {absent ? DASH : scale.text(ns)}
        {!absent && <span>{percent(share)}</span>}
      </span>
    </button>
  );
}

export function toggled<T>(one: T, all: ReadonlySet<T>): ReadonlySet<T> {
  const next = new Set(all);
  if (!next.delete(one)) next.add(one);
  return next;
}

/** Hides all parts but one; the second time it shows all again. */
export function onlyThis(id: string, ids: readonly string[], off: ReadonlySet<string>): ReadonlySet<string> {
  const others = ids.filter((other) => other !== id);
  const alone = !off.has(id) && others.every((other) => off.has(other));
  return new Set(alone ? [] : others);
}
