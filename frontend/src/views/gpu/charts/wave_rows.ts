/**
 * The waves in which a launch's blocks run, as rows of a picture. A row is as wide as the GPU has SMs and as high as an
 * SM holds blocks; blocks go to all SMs in turn, so a last wave may fill some SMs higher than others.
 *
 *     wave 1   ##########          10 SMs that hold 2 blocks each, 33 blocks: one full wave and 13 blocks, which
 *              ##########          fill all SMs once and three of them twice
 *     wave 2   ###.......
 *              ##########
 */

export interface WaveSegment {
  /** Share of the width and of the height, from the left and from the foot. */
  wide: number;
  high: number;
}

export interface WaveRow {
  /** Number of the first wave of the row, and how many waves it stands for. */
  first: number;
  waves: number;
  /** Of each wave. */
  blocks: number;
  tail: boolean;
  segments: readonly WaveSegment[];
}

export interface Launch {
  sms: number;
  /** Blocks that an SM holds at once. */
  resident: number;
  waves: number;
  /** Blocks of the last wave. */
  tail: number;
  /** The last wave is no tail: what it leaves free holds nothing up. */
  whole: boolean;
}

/** At most `most` rows, at least three: the first waves, one row for all that are folded, and the last wave. */
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

/** Blocks dealt to SMs in turn: first those with one more than the others. */
function spread(blocks: number, sms: number, resident: number): WaveSegment[] {
  const [each, more] = [Math.floor(blocks / sms), blocks % sms];
  const segments = [
    { wide: more / sms, high: (each + 1) / resident },
    { wide: 1 - more / sms, high: each / resident },
  ];
  return segments.filter(({ wide, high }) => wide > 0 && high > 0);
}
