/** A short piece of a line, as the legend shows it. */
export function LineSample({ focus }: { focus: boolean }) {
  return (
    <svg class={`plot sample ${focus ? "of-ink" : ""}`} width="24" height="10" aria-hidden="true">
      <path class={focus ? "line" : "line others"} d="M0 5h24" />
      <circle class={focus ? "mark" : "hollow"} cx="12" cy="5" r="3.2" />
    </svg>
  );
}
