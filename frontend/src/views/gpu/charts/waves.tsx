/** Waves as rows: the filled part is used; the last wave is hatched where it leaves room. */

import { svgFill } from "../../../colour";
import { sized } from "../../../dom/size";
import { count, counted } from "../../../format";

interface WavesProps {
  label: string;
  launch: Launch;
  height: number;
}

const LEFT = 56;
const RIGHT = 84;
const APART = 6;
const TOP = 4;
const BELOW = 18;

/** A row is as high as there is room for, up to a limit. */
const HIGHEST = 34;
const MOST_ROWS = 6;

/** The height of this many waves, with the rows as high as they may be. */
export const wavesHeight = (waves: number): number => TOP + BELOW + Math.min(waves, MOST_ROWS) * (HIGHEST + APART);

export const Waves = sized<WavesProps>(Rows, ({ height }) => height);

function Rows({ label, launch, height, width }: WavesProps & { width: number }) {
  const rows = waveRows(launch, MOST_ROWS);
  const pitch = Math.min(HIGHEST + APART, (height - TOP - BELOW) / rows.length);
  const right = width - RIGHT;
  return (
    <svg class="chart of-kernel" width={width} height={height} role="img" aria-label={label}>
      {rows.map((row, at) => (
        <Wave
          key={row.first}
          row={row}
          places={launch.sms * launch.resident}
          top={TOP + at * pitch}
          deep={pitch - APART}
          right={right}
        />
      ))}
      <text
        class="mid"
        x={(LEFT + right) / 2}
        y={TOP + rows.length * pitch + 10}
      >{`${counted(launch.sms, "SM")}, each holds ${counted(launch.resident, "block")}`}</text>
    </svg>
  );
}

interface WaveProps {
  row: WaveRow;
  places: number;
  top: number;
  deep: number;
  right: number;
}

function Wave({ row, places, top, deep, right }: WaveProps) {
  const middle = top + deep / 2 + 4;
  let left = LEFT;
  const segments = row.segments.map(({ wide, high }) => {
    const from = left;
    left += wide * (right - LEFT);
    const tall = Math.max(1, high * deep);
    return (
      `M${from.toFixed(1)} ` + `${(top + deep).toFixed(1)}v${(-tall).toFixed(1)}H${left.toFixed(1)}v${tall.toFixed(1)}z`
    );
  });
  return (
    <>
      <text class="small" x="0" y={middle}>
        {row.waves > 1 ? `${count(row.waves)} more` : `Wave ${count(row.first)}`}
      </text>
      <rect class="empty" x={LEFT} y={top} width={right - LEFT} height={deep} />
      {row.tail ? (
        <path class="tail" d={segments.join("")} style={{ fill: svgFill("kernel", true) }} />
      ) : (
        <path class="mark" d={segments.join("")} />
      )}
      <text class="small" x={right + 8} y={middle}>{`${count(row.blocks)} of ${count(places)}`}</text>
    </>
  );
}

/**
 * The waves in which a launch's blocks run, as rows of a picture. The width of a row stands for the GPU's SMs, its
 * height for the blocks that an SM holds; blocks go to all SMs in turn, so the last wave may fill some SMs higher than
 * others.
 *
 *     wave 1   ##########          10 SMs that hold 2 blocks each, 33 blocks: one full wave and 13 blocks, which
 *              ##########          fill all SMs once and three of them twice
 *     wave 2   ###.......
 *              ##########
 */
interface WaveSegment {
  /** Share of the width and of the height, measured from the left and from the bottom. */
  wide: number;
  high: number;
}

interface WaveRow {
  /** The number of the row's first wave, and how many waves the row stands for. */
  first: number;
  waves: number;
  /** The number of blocks of each wave. */
  blocks: number;
  tail: boolean;
  segments: readonly WaveSegment[];
}

export interface Launch {
  sms: number;
  /** The number of blocks that an SM holds at once. */
  resident: number;
  waves: number;
  /** The number of blocks of the last wave. */
  tail: number;
  /** The last wave is not a tail: the room that it leaves delays nothing. */
  whole: boolean;
}

/** At most `most` rows, at least three: the first waves, one row for all folded ones, and the last wave. */
export function waveRows(launch: Launch, most: number): WaveRow[] {
  const { sms, resident, waves, tail, whole } = launch;
  const full = waves - 1;
  const shown = full <= most - 1 ? full : most - 2;
  const row = (first: number, count: number): WaveRow => ({
    first,
    waves: count,
    blocks: sms * resident,
    tail: false,
    segments: [{ wide: 1, high: 1 }],
  });
  const rows = Array.from({ length: shown }, (_, at) => row(at + 1, 1));
  if (shown < full) rows.push(row(shown + 1, full - shown));
  return [
    ...rows,
    {
      first: waves,
      waves: 1,
      blocks: tail,
      tail: !whole && tail < sms * resident,
      segments: spread(tail, sms, resident),
    },
  ];
}

/** Distributes blocks over the SMs in turn: the SMs with one block more than the others come first. */
function spread(blocks: number, sms: number, resident: number): WaveSegment[] {
  const [each, more] = [Math.floor(blocks / sms), blocks % sms];
  const segments = [
    { wide: more / sms, high: (each + 1) / resident },
    { wide: 1 - more / sms, high: each / resident },
  ];
  return segments.filter(({ wide, high }) => wide > 0 && high > 0);
}
