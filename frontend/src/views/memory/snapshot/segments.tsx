/** The parts of the memory that is reserved at the end, and the blocks inside segments. */

import type { DeviceSnapshot, Strip } from "../../../api.gen";
import { type Filled, svgFill } from "../../../colour";
import { Picture } from "../../../components/picture";
import { Sized } from "../../../dom/size";
import { bytes, counted } from "../../../format";
import { Kinds } from "../alive";
import type { SnapshotPart } from "./choice";

interface Part extends Filled {
  id: string;
  label: string;
  meaning: string;
  bytes: number;
}

const partsOf = (of: DeviceSnapshot): Part[] => [
  {
    id: "in_use",
    label: "in use",
    meaning: "As it was asked for.",
    bytes: of.in_use_bytes,
    colour: "cpu",
    hatched: false,
  },
  {
    id: "rounding",
    label: "rounding",
    meaning: "What blocks are larger than what was asked for.",
    bytes: of.rounding_bytes,
    colour: "other",
    hatched: false,
  },
  {
    id: "kept",
    label: "free, kept by blocks",
    meaning:
      "Free within segments of which blocks are in use, so that it cannot be given back. " +
      `Here: ${counted(of.kept_pieces, "piece")}, the largest ${bytes(of.kept_largest_bytes)}.`,
    bytes: of.kept_bytes,
    colour: "cpu",
    hatched: true,
  },
  {
    id: "releasable",
    label: "free segments",
    meaning: "torch.cuda.empty_cache() gives them back.",
    bytes: of.releasable_bytes,
    colour: "other",
    hatched: true,
  },
];

/** Memory in use, rounding and free memory add up to what is reserved. */
export function Reserved({ device, name }: SnapshotPart) {
  const parts = partsOf(device).filter((part) => part.bytes > 0);
  const rows = parts.map((part) => [part.label, part.bytes]);
  return (
    <Picture
      title="What is reserved at the end?"
      sub={bytes(device.reserved_bytes)}
      name={`reserved ${name}`}
      drawn={false}
      table={() => ({ columns: [{ label: "Part" }, { label: "Bytes", unit: "bytes" }], rows })}
    >
      <Kinds
        label={parts.map((part) => `${part.label} ${bytes(part.bytes)}`).join(", ")}
        listed="Parts of what is reserved"
        kinds={parts}
        total={device.reserved_bytes}
      />
    </Picture>
  );
}

/** The most rows that are drawn; the others are only counted. */
const MOST_ROWS = 12;

export function Segments({ page, name }: SnapshotPart) {
  const withFree = page.strips.filter((strip) => strip.free_bytes > 0);
  const shown = (withFree.length > 0 ? withFree : page.strips).slice(0, MOST_ROWS);
  const more = page.strips.length + page.more_strips - shown.length;
  return (
    <Picture
      title={withFree.length > 0 ? "Which blocks keep free memory?" : "Which blocks are in the segments?"}
      sub="segments at the end, on one scale"
      name={`segments ${name}`}
      table={() => tableOf(page.strips)}
    >
      <StripRows strips={shown} label={spoken(shown)} />
      {more > 0 && <p class="quiet">{counted(more, "other segment")} not shown.</p>}
    </Picture>
  );
}

const spoken = (strips: readonly Strip[]): string =>
  strips
    .map((strip) => `A segment of ${bytes(strip.bytes)} with ${bytes(strip.free_bytes)} free between blocks in use.`)
    .join(" ");

const tableOf = (strips: readonly Strip[]) => ({
  columns: [
    { label: "Segment" },
    { label: "Offset", unit: "bytes" as const },
    { label: "Block", unit: "bytes" as const },
    { label: "Use" },
    { label: "Line" },
  ],
  rows: strips.flatMap((strip) =>
    strip.offset.map((offset, at) => [
      strip.address,
      offset,
      strip.size[at]!,
      strip.used[at] ? "in use" : "free",
      strip.lines[strip.line[at]!] ?? null,
    ]),
  ),
});

const ROW = 22;
const BAR = 14;
const GUTTER = 168;

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
function StripRows({ strips, label }: { strips: readonly Strip[]; label: string }) {
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
export function marksOf(strip: Strip, px: number): BlockMark[] {
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
