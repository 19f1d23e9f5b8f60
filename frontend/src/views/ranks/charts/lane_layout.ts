/**
 * Where the rows of the job timeline are, and where the path that decides the step runs below them.
 *
 *     up to 16 ranks    22 px each, with room for the path between them
 *     more              as high as there is room for; rows that decide the step keep 22 px and their names
 */

export interface LaneLayout {
  tops: readonly number[];
  heights: readonly number[];
  height: number;
}

const TALL_PX = 22;
const GAP_PX = 12;
/** Up to this many rows are all tall. */
const FEW = 16;
/** The height that the other rows may take together, and the least and most height of each. */
const ROOM_PX = 320;
const LEAST_PX = 2;
const MOST_PX = 8;
/** This many deciding rows keep their height; if there were more, none would stand out. */
const MOST_TALL = 6;

/** deciding: the rows that decide the step, ordered by how much of it they decide, most first. */
export function laneLayout(rows: number, deciding: readonly number[]): LaneLayout {
  const tall = new Set(deciding.slice(0, MOST_TALL));
  const low = Math.max(LEAST_PX, Math.min(MOST_PX, Math.floor(ROOM_PX / rows)));
  const tops: number[] = [];
  const heights: number[] = [];
  let y = 0;
  for (let row = 0; row < rows; row++) {
    const isTall = rows <= FEW || tall.has(row);
    tops.push(y);
    heights.push(isTall ? TALL_PX : low);
    y += isTall ? TALL_PX + GAP_PX : low;
  }
  return { tops, heights, height: y };
}

/** The row at a distance in px from the top; in a gap the row above it. */
export function rowAt({ tops, height }: LaneLayout, y: number): number | null {
  if (y < 0 || y >= height) return null;
  let [low, high] = [0, tops.length - 1];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (tops[middle]! <= y) low = middle;
    else high = middle - 1;
  }
  return low;
}

export const isTall = ({ heights }: LaneLayout, row: number): boolean => heights[row] === TALL_PX;

/** The y position of the path: below its row. */
export const pathY = ({ tops, heights }: LaneLayout, row: number): number => tops[row]! + heights[row]! + 3.5;
