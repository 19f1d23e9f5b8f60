/**
 * Segments as rows on one scale: blocks in use are filled, free ones are hatched; blocks too narrow to be distinguished
 * are merged into one mark.
 *
 *     20 MB, 12 MB free   |##|......|###|.........|#|
 *      4 MB,  1 MB free   |####|..|
 *
 *     blocks   aaaaaaaa.a.b........bbbb      a: 8, then single bytes
 *     marks    |  used |mix|  free |used|
 */

import { svgFill } from "../../../colour";
import { Sized } from "../../../dom/size";
import { bytes, counted } from "../../../format";

const ROW = 22;
const BAR = 14;
const GUTTER = 168;

export function StripRows({ strips, label }: { strips: readonly StripBlocks[]; label: string }) {
  const height = ROW * strips.length;
  const largest = Math.max(...strips.map((strip) => strip.bytes));
  return (
    <Sized height={height}>
      {(width) => (
        <svg class="strips" width={width} height={height} role="img" aria-label={label}>
          {strips.map((strip, row) => (
            <g key={strip.address} transform={`translate(0 ${ROW * row})`}>
              <text class="axis" x="0" y={BAR - 2}>
                {bytes(strip.bytes)}, {bytes(strip.free_bytes)} free
              </text>
              <g transform={`translate(${GUTTER} 0)`}>
                {marksOf(strip, (width - GUTTER) / largest).map((mark) => (
                  <rect
                    key={mark.x}
                    x={mark.x}
                    width={Math.max(1, mark.width - 0.5)}
                    height={BAR}
                    fill={svgFill(mark.use === "free" ? "other" : "cpu", mark.use !== "used")}
                    data-hint={hintOf(mark)}
                  />
                ))}
              </g>
            </g>
          ))}
        </svg>
      )}
    </Sized>
  );
}

const USES = { used: "in use", free: "free", mixed: "in use and free" } as const;

function hintOf({ use, bytes: size, blocks, line }: BlockMark): string {
  const where = use !== "used" || blocks > 1 ? "" : `\nAllocated at ${line ?? "a place that is not recorded"}`;
  return `${bytes(size)} ${USES[use]}${blocks > 1 ? `, ${counted(blocks, "block")}` : ""}${where}`;
}

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

interface BlockMark {
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
