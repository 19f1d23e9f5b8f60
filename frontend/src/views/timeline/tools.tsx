/** Next to the title: another step, closer and further. */

interface StepToolsProps {
  at: number | null;
  count: number;
  goTo(at: number): void;
  zoom(factor: number): void;
  reset(): void;
}

export function StepTools({ at, count: steps, goTo, zoom, reset }: StepToolsProps) {
  return (
    <div class="tools" role="group" aria-label="Step and zoom">
      <button
        class="button low"
        aria-label="Previous step"
        data-hint="Previous step, key ["
        disabled={at === null || at === 0}
        onClick={() => goTo(at! - 1)}
      >
        Previous
      </button>
      <button
        class="button low"
        aria-label="Next step"
        data-hint="Next step, key ]"
        disabled={at === null || at >= steps - 1}
        onClick={() => goTo(at! + 1)}
      >
        Next
      </button>
      <button class="button low" data-hint="Further, key S" aria-label="Zoom out" onClick={() => zoom(1.6)}>
        −
      </button>
      <button class="button low" data-hint="Closer, key W" aria-label="Zoom in" onClick={() => zoom(1 / 1.6)}>
        +
      </button>
      <button class="button low" data-hint="The whole step, key 0 or double click" onClick={reset}>
        {steps > 0 ? "Whole step" : "Whole trace"}
      </button>
    </div>
  );
}
