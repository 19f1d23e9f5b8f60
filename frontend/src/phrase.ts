/** Sentences that the server sends as a template with quantities: as text, and as segments for a component to draw. */

import type { Phrase, Quantity, Unit } from "./api.gen";
import { DASH, figure, rough, type Style, scaleFor, text } from "./format";

/** A piece of a sentence. Code is something to type, strong marks the words that matter most; a piece may be both. */
export interface Segment {
  text: string;
  strong: boolean;
  code: boolean;
}

/** Splits a sentence into segments. Text from a trace stays text: it is never read as a template. */
export function segmentsOf(phrase: Phrase, style: Style = "prose"): Segment[] {
  const found: Segment[] = [];
  let strong = false;
  const parts = phrase.template.split(/(\{\w+\}|\[|\])/);
  parts.forEach((part, at) => {
    if (part === "[" || part === "]") strong = part === "[";
    else if (/^[^`]*(`[^`]+`[^`]*)+$/.test(part)) found.push(...typed(part).map((each) => ({ ...each, strong })));
    else if (part !== "")
      found.push({ ...(paired(parts, at, phrase, style) ?? filled(part, phrase, style, last(found))), strong });
  });
  return found;
}

/** A sentence as plain text, for labels and tooltips. The tab's own sentences are plain text already. */
export function sentence(phrase: Phrase | string, style: Style = "prose"): string {
  if (typeof phrase === "string") return phrase;
  return segmentsOf(phrase, style)
    .map((segment) => segment.text)
    .join("");
}

/** A title that other sentences follow gets a full stop; a question keeps its mark. */
export const closed = (title: string): string => (/[.?!]$/.test(title) ? title : `${title}.`);

/** "Use `no_grad` where …": of a template's own words, those in backticks are code. */
const typed = (words: string): { text: string; code: boolean }[] =>
  words
    .split("`")
    .map((text, at) => ({ text, code: at % 2 === 1 }))
    .filter(({ text }) => text !== "");

function filled(part: string, phrase: Phrase, style: Style, before: string): { text: string; code: boolean } {
  const key = /^\{(\w+)\}$/.exec(part)?.[1];
  const quantity = key === undefined ? undefined : phrase.values[key];
  if (quantity === undefined) return { text: part, code: false };
  return { text: quantityText(quantity, style, before), code: quantity.unit === "code" };
}

/** "from 47.4 to 0.7 ms": two figures that are compared have the same unit, which is written once. */
function paired(
  parts: readonly string[],
  at: number,
  phrase: Phrase,
  style: Style,
): { text: string; code: false } | null {
  const next = PAIR.test(parts[at + 1] ?? "") ? measured(parts[at + 2], phrase) : null;
  const before = PAIR.test(parts[at - 1] ?? "") ? measured(parts[at - 2], phrase) : null;
  const own = measured(parts[at], phrase);
  const other = next ?? before;
  if (!own || !other || own.unit !== other.unit || (own.unit !== "ns" && own.unit !== "fraction")) return null;
  if (own.unit === "fraction")
    return { text: next ? figure(own.value, own.unit, style).number : text(own.value, own.unit, style), code: false };
  const [less, more] = [own.value, other.value].map(Math.abs).sort((a, b) => a - b) as [number, number];
  if (less && less < SAME_UNIT_FROM * more) return null;
  const scale = scaleFor(more, own.unit);
  return { text: next ? scale.number(own.value) : scale.text(own.value), code: false };
}

const PAIR = /^(?:, not| (?:to|and|less|of|of a steady|\/)) \+?$/;

/** A figure that is a smaller part of the other one keeps its own unit. */
const SAME_UNIT_FROM = 0.01;

function measured(part: string | undefined, phrase: Phrase): { value: number; unit: Unit } | null {
  const quantity = phrase.values[/^\{(\w+)\}$/.exec(part ?? "")?.[1] ?? ""];
  return quantity && typeof quantity.value === "number" ? { value: quantity.value, unit: quantity.unit } : null;
}

function quantityText({ value, unit }: Quantity, style: Style, before: string): string {
  if (value === null) return DASH;
  if (typeof value === "string") return value;
  return unit === "ns" && before.endsWith("about ") ? rough(value) : text(value, unit, style);
}

const last = (found: Segment[]): string => found[found.length - 1]?.text ?? "";
