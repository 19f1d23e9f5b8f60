/**
 * Segments as rows on one scale: blocks in use are filled, free ones are hatched.
 *
 *     20 MB, 12 MB free   |##|......|###|.........|#|
 *      4 MB,  1 MB free   |####|..|
 */

import { svgFill } from "../../../colour";
import { Sized } from "../../../dom/size";
import { bytes, counted } from "../../../format";
import { type BlockMark, marksOf, type StripBlocks } from "./strips";

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
                    data-hint={told(mark)}
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

function told({ use, bytes: size, blocks, line }: BlockMark): string {
  const where = use !== "used" || blocks > 1 ? "" : `\nAllocated at ${line ?? "a place that is not recorded"}`;
  return `${bytes(size)} ${USES[use]}${blocks > 1 ? `, ${counted(blocks, "block")}` : ""}${where}`;
}
