/** The parts of the memory that is reserved at the end, and the blocks inside segments. */

import type { DeviceSnapshot, Strip } from "../../../api.gen";
import type { Filled } from "../../../colour";
import { Picture } from "../../../components/picture";
import { bytes, counted } from "../../../format";
import { Kinds } from "../alive";
import { StripRows } from "../charts/strip_rows";
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
