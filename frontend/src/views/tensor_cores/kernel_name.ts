/** Names of kernels as they fit a column. The short form is the server's; the whole name is on hover and copied. */

import { textWidth } from "../../dom/text_width";

/** What a row shows of a kernel; summaries of earlier releases hold the whole name alone. */
export const shortOf = (kernel: { short: string; name: string }): string => kernel.short || kernel.name;

/** Keeps both ends within `most` pixels: the family stands first, types and tile sizes last. */
export function fitted(short: string, most: number): string {
  if (textWidth(short, "small") <= most) return short;
  const left = most - textWidth("…", "small");
  const tail = within([...short].reverse(), 0.4 * left).reverse();
  const head = within([...short], left - textWidth(tail.join(""), "small"));
  return `${head.join("")}…${tail.join("")}`;
}

/** As many as there is room for. */
function within(characters: readonly string[], room_px: number): string[] {
  let room = room_px;
  const end = characters.findIndex((character) => {
    room -= textWidth(character, "small");
    return room < 0;
  });
  return characters.slice(0, end < 0 ? characters.length : end);
}
