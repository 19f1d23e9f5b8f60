/** Waves as rows: what is filled is used, the last wave is hatched where it leaves room. */

import { colourOf, svgFill } from "../../../colour";
import { Sized } from "../../../dom/size";
import { count, counted } from "../../../format";
import { type Launch, type WaveRow, waveRows } from "./wave_rows";

interface WavesProps {
  label: string;
  launch: Launch;
  colour: string;
  height: number;
}

const LEFT = 56;
const RIGHT = 84;
const APART = 6;
const TOP = 4;
const BELOW = 18;

/** A row is as high as there is room, within reason. */
const HIGHEST = 34;
const MOST_ROWS = 6;

/** What so many waves take, as high as rows may be. */
export const wavesHeight = (waves: number): number => TOP + BELOW + Math.min(waves, MOST_ROWS) * (HIGHEST + APART);

export function Waves(props: WavesProps) {
  return <Sized height={props.height}>{(width) => <Rows {...props} width={width} />}</Sized>;
}

function Rows({ label, launch, colour, height, width }: WavesProps & { width: number }) {
  const rows = waveRows(launch, MOST_ROWS);
  const pitch = Math.min(HIGHEST + APART, (height - TOP - BELOW) / rows.length);
  const right = width - RIGHT;
  return (
    <svg class={`chart of-${colourOf(colour)}`} width={width} height={height} role="img" aria-label={label}>
      {rows.map((row, at) => (
        <Wave
          key={row.first}
          row={row}
          places={launch.sms * launch.resident}
          top={TOP + at * pitch}
          deep={pitch - APART}
          right={right}
          colour={colour}
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
  colour: string;
}

function Wave({ row, places, top, deep, right, colour }: WaveProps) {
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
        <path class="tail" d={segments.join("")} style={{ fill: svgFill(colour, true) }} />
      ) : (
        <path class="mark" d={segments.join("")} />
      )}
      <text class="small" x={right + 8} y={middle}>{`${count(row.blocks)} of ${count(places)}`}</text>
    </>
  );
}
