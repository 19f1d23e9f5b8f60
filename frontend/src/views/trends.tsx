import type { TrendsViewProps } from "./props";

export function Trends({ page }: TrendsViewProps) {
  return <div class="view" data-view="trends">{page.headline.verdict.template}</div>;
}
