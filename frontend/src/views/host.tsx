/** Why the GPU is idle: what the host does meanwhile, from where it launches work, and which calls block. */

import type { SpanViewProps } from "./props";

export function Host({ page }: SpanViewProps<"host">) {
  return <div class="view" data-view="host">{page.result.steps.length}</div>;
}
