import type { SpanViewProps } from "./props";

export function TensorCores({ page }: SpanViewProps<"tensor_cores">) {
  return <div class="view" data-view="tensor_cores">{page.headline.verdict.template}</div>;
}
