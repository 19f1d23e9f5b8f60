import type { HostStep } from "../../api.gen";

/** The kept step's place, else that of the step of median length: it stands for the others. */
export function shownStep(
  steps: readonly Pick<HostStep, "name" | "start_ns" | "end_ns">[],
  kept: string | undefined,
): number {
  const at = steps.findIndex((step) => step.name === kept);
  if (at >= 0) return at;
  const byLength = steps
    .map((step, place) => [step.end_ns - step.start_ns, place] as const)
    .sort((a, b) => a[0] - b[0]);
  return byLength[Math.floor((byLength.length - 1) / 2)]?.[1] ?? 0;
}
