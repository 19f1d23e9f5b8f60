/** Kernel names, which run to hundreds of characters, as they fit a column. */

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
  if (widthOf(short) <= most) return short;
  const left = most - widthOf("…");
  const tail = within([...short].reverse(), 0.4 * left).reverse();
  const head = within([...short], left - widthOf(tail));
  return `${head.join("")}…${tail.join("")}`;
}

function within(characters: readonly string[], most: number): string[] {
  let room = most;
  const end = characters.findIndex((character) => (room -= widthOf(character)) < 0);
  return characters.slice(0, end < 0 ? characters.length : end);
}

const NARROW = new Set("ijltfrI.,:;!|'()[]{}/ ");
const WIDE = /[A-Zmw…@%&]/;

/** About as wide as table type sets it, px; rather too wide than too narrow. */
function widthOf(text: string | readonly string[]): number {
  let sum = 0;
  for (const character of text) sum += NARROW.has(character) ? 4 : WIDE.test(character) ? 8.6 : 6.8;
  return sum;
}
