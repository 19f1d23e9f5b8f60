/**
 * Converts points to an SVG path. A missing value is a break; more points than pixels become the range of each pixel.
 */

export interface Dot {
  x: number;
  y: number;
}

/** With more points per pixel than this a chain is drawn as ranges. */
const DENSE = 2;

/** Chains of dots between breaks (null). */
export function chains(dots: readonly (Dot | null)[]): Dot[][] {
  const found: Dot[][] = [];
  let open: Dot[] | null = null;
  for (const dot of dots) {
    if (dot === null) open = null;
    else if (open) open.push(dot);
    else {
      open = [dot];
      found.push(open);
    }
  }
  return found;
}

/** Writes the chains as a path; a lone point is a short dash, so that it is visible without a mark. */
export function pathOf(dots: readonly (Dot | null)[]): string {
  return chains(dots)
    .map((chain) => written(decimated(chain)))
    .join("");
}

/** The first, lowest, highest and last point of each pixel column, in their original order: extremes are never lost. */
export function decimated(chain: readonly Dot[]): readonly Dot[] {
  const width = chain.length > 0 ? chain[chain.length - 1]!.x - chain[0]!.x : 0;
  if (chain.length <= DENSE * (width + 1)) return chain;
  const selected: Dot[] = [];
  for (let first = 0; first < chain.length; ) {
    const column = Math.round(chain[first]!.x);
    let end = first;
    while (end < chain.length && Math.round(chain[end]!.x) === column) end++;
    selected.push(...extremes(chain, first, end));
    first = end;
  }
  return selected;
}

function extremes(chain: readonly Dot[], first: number, end: number): Dot[] {
  let low = first;
  let high = first;
  for (let at = first; at < end; at++) {
    if (chain[at]!.y < chain[low]!.y) low = at;
    if (chain[at]!.y > chain[high]!.y) high = at;
  }
  return [...new Set([first, low, high, end - 1])].sort((a, b) => a - b).map((at) => chain[at]!);
}

function written(chain: readonly Dot[]): string {
  const [first, ...rest] = chain;
  if (!first) return "";
  if (rest.length === 0) return `M${at(first)}h.1`;
  return `M${at(first)}${rest.map((dot) => `L${at(dot)}`).join("")}`;
}

/** The closed shape between two lines: forward along the upper, back along the lower. */
export function bandOf(high: readonly (Dot | null)[], low: readonly (Dot | null)[]): string {
  const lower = chains(low);
  return chains(high)
    .map((chain, which) => [...decimated(chain), ...[...decimated(lower[which] ?? [])].reverse()])
    .filter((shape) => shape.length > 2)
    .map((shape) => `${written(shape)}Z`)
    .join("");
}

const at = ({ x, y }: Dot): string => `${x.toFixed(1)} ${y.toFixed(1)}`;
