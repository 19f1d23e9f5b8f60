import { type TimeRange, type TimeScale, touches } from "../../time_range";
import type { StopSelection } from "../pointer/pointing";

interface StepRingsProps extends Pick<StopSelection, "hovered" | "selected"> {
  steps: readonly (TimeRange & { key: string })[];
  visible: TimeRange;
  time: TimeScale;
  top: number;
  height: number;
}

/** Rings around the steps that are hovered or selected, in this picture or another one. */
export function StepRings({ steps, hovered, selected, visible, time, top, height }: StepRingsProps) {
  const ringed = steps.filter((step) => (step.key === hovered || step.key === selected) && touches(step, visible));
  return (
    <>
      {ringed.map(({ key, from, to }) => {
        const left = time.clampedX(from);
        return (
          <rect key={key} class="ring" x={left} y={top} width={Math.max(1, time.clampedX(to) - left)} height={height} />
        );
      })}
    </>
  );
}
