/**
 * The blocks of a segment as marks; blocks too narrow to be distinguished are merged into one mark.
 *
 *     blocks   aaaaaaaa.a.b........bbbb      a: 8, then single bytes
 *     marks    |  used |mix|  free |used|
 */

/**
 * A segment: for each block its offset, size and use, and the index of the line that allocated it, -1: not recorded.
 */
export interface StripBlocks {
  address: string;
  bytes: number;
  free_bytes: number;
  offset: readonly number[];
  size: readonly number[];
  used: readonly boolean[];
  line: readonly number[];
  lines: readonly string[];
}

/** "mixed": narrow blocks, both used and free ones. */
type Use = "used" | "free" | "mixed";

export interface BlockMark {
  x: number;
  width: number;
  use: Use;
  /** The bytes and the number of blocks that the mark stands for. */
  bytes: number;
  blocks: number;
  /**
   * The line of code that allocated it; null where the block is free, the line was not recorded, or there are several.
   */
  line: string | null;
}

/** Blocks narrower than this are merged. */
const LEAST_PX = 2;

/** px: pixels per byte. */
export function marksOf(strip: StripBlocks, px: number): BlockMark[] {
  const marks: BlockMark[] = [];
  strip.offset.forEach((offset, at) => {
    const [bytes, use] = [strip.size[at]!, strip.used[at] ? "used" : "free"] as const;
    const last = marks.at(-1);
    if (last && last.width < LEAST_PX) {
      last.width += bytes * px;
      last.bytes += bytes;
      last.blocks += 1;
      last.use = last.use === use ? use : "mixed";
      last.line = null;
    } else {
      const line = strip.line[at]! < 0 ? null : strip.lines[strip.line[at]!]!;
      marks.push({ x: offset * px, width: bytes * px, use, bytes, blocks: 1, line });
    }
  });
  return marks;
}
