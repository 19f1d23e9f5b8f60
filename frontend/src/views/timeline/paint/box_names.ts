/** Names in boxes: as much as fits, and nothing where only a few letters would fit. */

import { shortened } from "../../../format";

const PADDING = 4;
const LEAST_LETTERS = 3;

/** Below this length the beginning of a name says more than its two ends. */
const ENDS_LETTERS = 20;

/** What to write in `room` px; null: there is no room for a word. `measure` returns the width of a text. */
export function fitted(name: string, measure: (text: string) => number, room: number): string | null {
  const free = room - 2 * PADDING;
  if (name === "" || free <= 0) return null;
  const ways = [name, ...briefer(name)];
  const whole = ways.find((direction) => measure(direction) <= free);
  if (whole !== undefined) return whole;
  const own = ways.at(-1)!;
  for (let letters = Math.ceil((free / measure(own)) * own.length); letters >= LEAST_LETTERS; letters--) {
    const text = letters < ENDS_LETTERS ? `${own.slice(0, letters - 1)}…` : shortened(own, letters);
    if (measure(text) <= free) return text;
  }
  return null;
}

/** The name without its leading scopes, then without its arguments, then without its template arguments. */
function briefer(name: string): string[] {
  const own = unscoped(name);
  const called = own.replace(/(?<=[\w>])\(.*\)$/, "");
  const head = called.replace(/(?<=\w{6})<.*>$/, "");
  return [own, called, head];
}

/** `void at::native::fill<int>(…)` becomes `fill<int>(…)`, `evaluate_function: Mul` becomes `Mul`. */
export function unscoped(name: string): string {
  const head = name.search(/[<([{]/);
  const scopes = head < 0 ? name : name.slice(0, head);
  const cut = Math.max(scopes.lastIndexOf("::"), scopes.lastIndexOf(": "));
  const type = /^void /.exec(name)?.[0].length ?? 0;
  return name.slice(cut >= 0 && cut + 2 < scopes.length ? cut + 2 : type);
}
