/** Kernel names, which run to hundreds of characters, as they fit a column. */

/** What stands at the start of a C++ function's name and says nothing about the kernel. */
const NOISE = /^(?:void|__global__)\s+|\b(?:at::native|at|c10)::|\(anonymous namespace\)::/g;

/** Without return type, parameters and the namespaces that all kernels share. */
export function bare(name: string): string {
  return withoutParameters(name).replace(NOISE, "").replace(/>\s+>/g, ">>").trim();
}

/** Cuts the parameter list: the first parenthesis outside template arguments that does not open a namespace. */
function withoutParameters(name: string): string {
  let depth = 0;
  for (let at = 0; at < name.length; at++) {
    const character = name[at];
    if (character === "<") depth++;
    else if (character === ">") depth--;
    else if (character === "(" && depth === 0 && at > 0 && !name.startsWith("(anonymous", at)) return name.slice(0, at);
  }
  return name;
}

/** Keeps both ends: the family stands first, types and tile sizes last. */
export function fitted(name: string, most: number): string {
  const short = bare(name);
  if (short.length <= most) return short;
  const tail = Math.max(3, Math.floor((most - 1) * 0.4));
  return `${short.slice(0, Math.max(1, most - 1 - tail))}…${short.slice(short.length - tail)}`;
}
