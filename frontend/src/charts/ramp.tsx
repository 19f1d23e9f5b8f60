import { colourOf } from "../colour";

/** What the levels of a strip mean. */
export function Ramp({ colour, low, high, label }: { colour: string; low: string; high: string; label: string }) {
  return (
    <span class="ramp" role="img" aria-label={label}>
      {low}
      <svg width="110" height="10" class={`of-${colourOf(colour)}`} aria-hidden="true">
        <rect class="empty" width="110" height="10" />
        {Array.from({ length: 10 }, (_, at) => (
          <rect key={at} class="mark" fill-opacity={(at + 1) / 10} x={10 * (at + 1)} width="10" height="10" />
        ))}
      </svg>
      {high}
    </span>
  );
}
