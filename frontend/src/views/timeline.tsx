/** One step in lanes: what ran when, and what it waited for. */

import type { SpanViewProps } from "./props";

export function Timeline({ page }: SpanViewProps<"timeline">) {
  return <div class="view" data-view="timeline">{page.result.steps.length}</div>;
}
