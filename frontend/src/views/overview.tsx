import type { SpanViewProps } from "./props";

export function Overview({ page }: SpanViewProps<"overview">) {
  return <div class="view" data-view="overview">{page.headline.verdict.template}</div>;
}
