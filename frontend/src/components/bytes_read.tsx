/** How much of a file is read, as a bar. percent: 0 to 100. */
export function BytesRead({ percent }: { percent: number }) {
  return (
    <div
      class="progress"
      role="progressbar"
      aria-valuemin={0}
      aria-valuemax={100}
      aria-valuenow={percent}
      aria-label="Bytes read"
    >
      <i style={{ width: `${percent}%` }} />
    </div>
  );
}

/** Whole percents of what is read, 100 at most; 0 where the size is not known. */
export const percentOf = (read: number, total: number): number =>
  Math.min(100, total > 0 ? Math.floor((100 * read) / total) : 0);
