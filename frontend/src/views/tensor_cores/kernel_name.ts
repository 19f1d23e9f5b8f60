/** Kernel names, which run to hundreds of characters, as they fit a column. */

import { textWidth } from "../../dom/text_width";

/** What says nothing about the kernel. */
const NOISE = /^void\s+|\b(?:at::native|at|c10)::|\(anonymous namespace\)::/g;

/** Without return type, parameters and the namespaces that all kernels share. */
export function bare(name: string): string {
  const { parameters, returned } = landmarks(name);
  const own = parameters === null ? name : name.slice(returned, parameters);
  return own.replace(NOISE, "").replace(/>\s+>/g, ">>").trim();
}

const CLOSES: Readonly<Record<string, string>> = { ">": "<", ")": "(", "}": "{" };

/**
 * Where the parameter list opens (null: there is none) and where the return type ends: the first parenthesis, and the
 * last space before it, outside all brackets. A `>` that closes no `<` of its own bracket compares.
 */
function landmarks(name: string): { parameters: number | null; returned: number } {
  const open: string[] = [];
  let returned = 0;
  for (let at = 0; at < name.length; at++) {
    const character = name[at]!;
    if (character === "(" && open.length === 0 && at > 0 && !name.startsWith(ANONYMOUS, at))
      return { parameters: at, returned };
    if (character === " " && open.length === 0) returned = at + 1;
    if ("<({".includes(character)) open.push(character);
    else if (character in CLOSES) close(open, CLOSES[character]!);
  }
  return { parameters: null, returned };
}

const ANONYMOUS = "(anonymous namespace)";

/** A parenthesis closes whatever stayed open within it. */
function close(open: string[], bracket: string): void {
  const at = open.lastIndexOf(bracket);
  if (at >= 0 && (bracket !== "<" || at === open.length - 1)) open.length = at;
}

/** Keeps both ends within `most` pixels: the family stands first, types and tile sizes last. */
export function fitted(name: string, most: number): string {
  const short = bare(name);
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
