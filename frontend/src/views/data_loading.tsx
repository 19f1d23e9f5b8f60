import type { SpanViewProps } from "./props";

export function DataLoading({ page }: SpanViewProps<"data_loading">) {
  return <div class="view" data-view="data_loading">{page.headline.verdict.template}</div>;
}
