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
  /** Why a GPU is idle, in the order of every picture. */
  idle_reasons: readonly PartMeaning[];
  /** A verdict as an adjective: "host-bound". */
  bounds: Readonly<Record<string, string>>;
  /** Why the host pauses. */
  causes: Readonly<Record<string, string>>;
  /** The phases of a step, in their order. */
  phases: Readonly<Record<string, string>>;
  /** Of kernel time, by tensor cores. */
  kernel_bins: readonly BinMeaning[];
  /** Parts of the production of a batch. */
  production_parts: readonly PartMeaning[];
  /** Kinds of memory, in their order. */
  memory_parts: readonly PartMeaning[];
  /** What limits a worker: "CPU-bound". */
  limits: Readonly<Record<string, string>>;
  /** What a process group exchanges for: "gradients (DDP)". */
  roles: Readonly<Record<string, string>>;
  views: readonly ViewMeaning[];
  /** What is explained where it stands in a sentence. */
  terms: readonly Term[];
  metrics: readonly Metric[];
  /** Metrics of which the least is the worst. */
  more_is_better: readonly string[];
  /** Throws where the catalogue does not hold it: the server and this bundle are of different versions. */
  metric(id: string): Metric;
  viewTitle(id: ViewId | string): string;
  /** What a card rests on, whatever the trace. */
  card(id: string): CardMeaning | undefined;
  /** Why a figure is not known, in words. */
  explain(reason: Reason): Phrase;
  /** With the labels that a job's machine calls for. */
  of(job: Machine | null): Meanings;
}

/** Whose devices a job runs on, and what PyTorch calls them. */
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

/** The catalogue with other labels, by the id of a view, metric or bin. */
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

/** The head of a column: a short label where there is one, and what the figure means. */
export function columnHead(meanings: Meanings, id: string): { label: string; meaning: string } {
  const { label, short, meaning } = meanings.metric(id);
  return { label: short || label, meaning: short ? `${label}. ${meaning}` : meaning };
}
