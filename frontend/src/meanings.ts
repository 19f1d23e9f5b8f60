/** The catalogue by id: labels, units, definitions and colours of everything that is shown. */

import type {
  BinMeaning,
  CardMeaning,
  Catalogue,
  JobText,
  Metric,
  PartMeaning,
  Phrase,
  Reason,
  Term,
  ViewId,
  ViewMeaning,
} from "./api.gen";

export interface Meanings {
  version: string;
  parts: readonly PartMeaning[];
  /** The reasons why a GPU is idle, in the order that every picture uses. */
  idle_reasons: readonly PartMeaning[];
  /** A verdict as an adjective: "host-bound". */
  bounds: Readonly<Record<string, string>>;
  /** The same as a noun: "CPU". */
  paces: Readonly<Record<string, string>>;
  causes: Readonly<Record<string, string>>;
  /** The phases of a step, in their order. */
  phases: Readonly<Record<string, string>>;
  /** The bins of kernel time by use of tensor cores. */
  kernel_bins: readonly BinMeaning[];
  production_parts: readonly PartMeaning[];
  /** Kinds of memory, in their order. */
  memory_parts: readonly PartMeaning[];
  /** What limits a worker: "CPU-bound". */
  limits: Readonly<Record<string, string>>;
  /** What a process group exchanges data for: "gradients (DDP)". */
  roles: Readonly<Record<string, string>>;
  views: readonly ViewMeaning[];
  /** Terms that are explained where they occur in a sentence. */
  terms: readonly Term[];
  metrics: readonly Metric[];
  /** Metrics whose lowest value is the worst. */
  more_is_better: readonly string[];
  /** Throws where the catalogue lacks the metric: then the server and this bundle are of different versions. */
  metric(id: string): Metric;
  viewTitle(id: ViewId | string): string;
  /** What a card is based on, in any trace. */
  card(id: string): CardMeaning | undefined;
  /** States in words why a figure is not known. */
  explain(reason: Reason): Phrase;
  /** Returns these meanings with the labels that suit the job's machine. */
  of(job: Machine | null): Meanings;
}

/** The vendor of a job's devices, and what PyTorch calls them. */
type Machine = Pick<JobText, "vendor" | "accelerator">;

export function meaningsOf(catalogue: Catalogue): Meanings {
  const metrics = new Map([...catalogue.metrics, ...catalogue.figures].map((metric) => [metric.id, metric]));
  const titles = new Map(catalogue.views.map((view) => [view.id, view.title]));
  const cards = new Map(catalogue.cards.map((card) => [card.id, card]));
  return {
    ...catalogue,
    metric(id) {
      const found = metrics.get(id);
      if (!found) throw new Error(`The catalogue holds no metric ${id}. Reload the page.`);
      return found;
    },
    viewTitle: (id) => titles.get(id) ?? id,
    card: (id) => cards.get(id),
    explain: ({ code, values }) => ({ template: catalogue.reasons[code] ?? code, values }),
    of: (job) => (job === null ? meaningsOf(catalogue) : meaningsOf(labelled(catalogue, labelsFor(catalogue, job)))),
  };
}

const labelsFor = (
  { amd_labels: amd }: Catalogue,
  { vendor, accelerator }: Machine,
): Readonly<Record<string, string>> => (accelerator === "GPU" ? (vendor === "amd" ? amd : {}) : { gpu: accelerator });

/** Returns the catalogue with other labels, which are given by the id of a view, metric or bin. */
function labelled(catalogue: Catalogue, labels: Readonly<Record<string, string>>): Catalogue {
  const named = <T extends { id: string; label: string; short?: string }>(each: T): T => {
    const label = labels[each.id];
    return label === undefined ? each : { ...each, label, ...(each.short ? { short: label } : {}) };
  };
  return {
    ...catalogue,
    metrics: catalogue.metrics.map(named),
    figures: catalogue.figures.map(named),
    kernel_bins: catalogue.kernel_bins.map(named),
    views: catalogue.views.map((view) => ({ ...view, title: labels[view.id] ?? view.title })),
  };
}

/** The header of a column: its label, short where there is a short one, and what the figure means. */
export function columnHead(meanings: Meanings, id: string): { label: string; meaning: string } {
  const { label, short, meaning } = meanings.metric(id);
  return { label: short || label, meaning: short ? `${label}. ${meaning}` : meaning };
}
