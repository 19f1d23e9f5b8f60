import type { Progress, Waiting } from "../api.gen";
import { BytesRead, percentOf } from "../components/bytes_read";
import { TilePlace, Tiles } from "../components/tile";
import { bytes, bytesOf, count, rate, roughCount, wait } from "../format";

interface ReadingProps {
  /** What is read, as the pickers name it: "rank 3". */
  name: string;
  waiting: Waiting | null;
  fileBytes: number;
  /** Names of the tiles that will stand here. */
  tiles: readonly string[];
  /** Spans that can be opened meanwhile. */
  ready: number;
}

/** A span that is read, or waits for its turn: real bytes of the file, whose size is known from the first second. */
export function Reading({ name, waiting, fileBytes, tiles, ready }: ReadingProps) {
  const progress = waiting?.progress ?? null;
  const [read, total] = [progress?.read_bytes ?? 0, progress?.total_bytes ?? fileBytes];
  const percent = percentOf(read, total);
  return (
    <>
      <h1 class="title">
        {progress ? `Reading ${name}: ${bytesOf(read, total)}` : `Reading ${name}, ${bytes(total)}`}
      </h1>
      <BytesRead percent={percent} />
      <p class="quiet">
        {about(waiting, progress)} {ready > 0 && "Other spans are ready: choose one above."}
      </p>
      <p class="visually-hidden" role="status">
        {percent > 0 && `${25 * Math.floor(percent / 25)} percent read`}
      </p>
      <Tiles label="Figures of this span">
        {tiles.map((tile) => (
          <TilePlace key={tile} label={tile} />
        ))}
      </Tiles>
    </>
  );
}

function about(waiting: Waiting | null, progress: Progress | null): string {
  if (!waiting) return "\u00a0";
  const file = `File ${count(waiting.file_number)} of ${count(waiting.file_count)}`;
  if (!progress) return `${file}, not begun yet.`;
  const pace = progress.bytes_per_second === null ? [] : [rate(progress.bytes_per_second)];
  const left = progress.seconds_left === null ? [] : [`about ${wait(progress.seconds_left)} left`];
  return `${[file, `${roughCount(progress.events)} events`, ...pace, ...left].join(", ")}.`;
}
