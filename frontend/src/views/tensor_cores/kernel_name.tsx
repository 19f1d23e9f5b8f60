/**
 * Names of kernels shortened to fit a column. The short form comes from the server; the full name is shown on hover and
 * copied.
 */

import type { ComponentChildren } from "preact";
import { CopyButton } from "../../components/copy";
import { textWidth } from "../../dom/text_width";

/** The name of a kernel in a row; summaries of earlier releases contain only the full name. */
export const shortOf = (kernel: { short: string; name: string }): string => kernel.short || kernel.name;

interface KernelNameProps {
  /** The full name, which the button copies. */
  name: string;
  /** What there is room for. */
  shown: string;
  hint?: string;
  children?: ComponentChildren;
}

export const KernelName = ({ name, shown, hint = name, children }: KernelNameProps) => (
  <span class="kernel-name" data-hint={hint}>
    <span class="clip">{shown}</span>
    {children}
    <CopyButton text={() => name} class="link">
      Copy
    </CopyButton>
  </span>
);

/** Keeps both ends within `most` pixels: the family comes first, types and tile sizes last. */
export function fitted(short: string, most: number): string {
  if (textWidth(short) <= most) return short;
  const left = most - textWidth("…");
  const tail = within([...short].reverse(), 0.4 * left).reverse();
  const head = within([...short], left - textWidth(tail.join("")));
  return `${head.join("")}…${tail.join("")}`;
}

/** As many characters as fit. */
function within(characters: readonly string[], room_px: number): string[] {
  let room = room_px;
  const end = characters.findIndex((character) => {
    room -= textWidth(character);
    return room < 0;
  });
  return characters.slice(0, end < 0 ? characters.length : end);
}
