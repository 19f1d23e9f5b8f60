/**
 * What a view says as Markdown, for a pull request or an issue: of a span its verdict, mean step, figures and what to
 * do, of a job that too, and of two runs what changed.
 */

import type {
  ComparePage,
  Contribution,
  Headline,
  Insight,
  PageOf,
  PartMeaning,
  Parts,
  Phrase,
  RanksPage,
  SpanHead,
  StepChange,
} from "../api.gen";
import { counted, DASH, ns, percent, rangeText, scaleFor, share, text } from "../format";
import type { Meanings } from "../meanings";
import { segmentsOf, sentence } from "../phrase";
import { changeOf, intervalText, signed } from "./compare/difference";
import type { Names, Tab } from "./props";
import { triedWords, triesOf } from "./tried";

/** job: what the job of the span says, which then comes first. */
export function summaryMarkdown(
  page: PageOf<"overview">,
  tab: Tab,
  job: Pick<RanksPage, "headline" | "insights"> | null = null,
): string {
  const { meanings } = tab;
  const { head, headline, insights } = page;
  return written(
    [
      ...(job ? [said(job.headline), ...cards(job.insights), "**This rank alone**"] : []),
      said(headline),
      originOf(head),
      simulated(head.simulated),
      meanStep(page, meanings.parts),
      triedLine(page, tab),
      figures(page, meanings),
      ...cards(insights),
    ],
    meanings,
  );
}

/** Two runs that are compared: by how much a step changed, in which parts, whether that is more than noise. */
export function comparisonMarkdown(page: ComparePage, { name, own }: Names, { meanings }: Tab): string {
  const { comparison, below, warnings, residuals, changes, base, candidate } = page;
  const scale = scaleFor(Math.max(comparison.step.base_ns, comparison.step.candidate_ns), "ns");
  const row = (label: string, change: Contribution | StepChange) =>
    [label, scale.text(change.base_ns), scale.text(change.candidate_ns), signed(changeOf(change), scale)].concat(
      intervalText(change, scale) || DASH,
    );
  const parts = comparison.waterfalls.find(({ by }) => by === "part")?.rows ?? [];
  const sides = [base, candidate].map(({ run, worker }) => `${safe(run)} (${safe(worker)})`);
  return written(
    [
      [`**${safe(sentence(page.headline))}**`, below && rich(below)].filter(Boolean).join("\n\n"),
      `Before: ${sides[0]}. After: ${sides[1]}.`,
      comparison.same_work || page.scaling
        ? table(
            ["Part of the mean step", safe(name), safe(own), "Change", "95 % interval"],
            [
              ...parts
                .filter((part) => part.base_ns + part.candidate_ns > 0)
                .map((part) => row(safe(page.labels[part.id] ?? part.id), part)),
              row("**Step**", comparison.step),
            ],
          )
        : "",
      warnings.map(({ cause, effect }) => `- ${rich(cause)} ${rich(effect)}`).join("\n"),
      comparison.predictions
        .map(({ change }, at) => `${safe(changes[change] ?? change)}: ${rich(residuals[at]!)}`)
        .join("\n\n"),
    ],
    meanings,
  );
}

const written = (blocks: readonly string[], { version }: Meanings): string =>
  [...blocks, `<sub>Step Insights ${safe(version)}</sub>`]
    .filter((block) => block !== "")
    .join("\n\n")
    .replaceAll("\u00a0", " ");

const said = ({ verdict, action, basis }: Headline): string =>
  [`**${safe(sentence(verdict))}**`, ...[action, basis].flatMap((each) => (each ? [rich(each)] : []))].join("\n\n");

const simulated = (how: string | null): string => (how === null ? "" : `**Simulated, not recorded.** ${safe(how)}`);

const cards = (insights: readonly Insight[]): string[] =>
  insights.length === 0 ? [] : ["**What to do, most important first**", insights.map(card).join("\n\n")];

function originOf({ run, worker, number, span_count, job, first_step, last_step, step_count }: SpanHead): string {
  const place = [run, worker, ...(span_count > 1 ? [`span ${number}`] : [])].map(safe);
  const range = first_step === null || last_step === null ? "" : `, ${safe(rangeText(first_step, last_step))}`;
  return [...place, safe(sentence(job.line)), counted(step_count, "step") + range].filter(Boolean).join(" · ");
}

function meanStep({ result }: PageOf<"overview">, parts: readonly PartMeaning[]): string {
  const { mean_parts_ns: mean, mean_duration_ns: whole, absent } = result;
  const rows = parts
    .filter(({ id }) => absent[id] === undefined)
    .map((part) => [part, mean[part.id as keyof Parts]] as const)
    .filter(([, length]) => length > 0)
    .map(([part, length]) => [safe(part.label), ns(length), percent(whole ? length / whole : null)]);
  return table(["Part", "Mean step", "Share"], [...rows, ["**Step**", `**${ns(whole)}**`, ""]]);
}

/** The effect of the ticked cards on the step, with their titles. */
function triedLine(page: PageOf<"overview">, tab: Tab): string {
  const tries = triesOf(page, tab);
  if (!tries?.ticked) return "";
  const titles = page.insights.filter(({ id }) => tries.of(id)?.ticked);
  const { before, after } = triedWords(tries);
  const cards = titles.map(({ title }) => `“${safe(sentence(title))}”`).join(", ");
  return `With ${cards}: from ${before} to **${after}** a step (est.).`;
}

/** A table of the known figures. */
function figures({ result }: PageOf<"overview">, meanings: Meanings): string {
  const measured = result.tiles.filter(({ value }) => value !== null);
  const rows = measured.map(({ metric, value }) => [
    safe(meanings.metric(metric).label),
    text(value, meanings.metric(metric).unit),
  ]);
  return rows.length === 0 ? "" : table(["Figure", "Value"], rows);
}

function card(insight: Insight, at: number): string {
  const { title, why, how, gain_ns, gain_fraction, severity, confidence, lowered_from: due } = insight;
  const gain = gain_ns > 0 ? `up to **${ns(gain_ns)}** a step (${share(gain_fraction)}); ` : "";
  const grave = due === null ? severity : `${severity}, lowered from ${due}`;
  const said = `${at + 1}. **${safe(sentence(title))}**: ${gain}${grave}, confidence ${confidence}.`;
  return [said, rich(why), ...(how === null ? [] : [fenced(how)])].map((part, line) => indented(part, line)).join("\n");
}

/** Indents everything after the first line, so that it belongs to the item of a numbered list. */
const indented = (part: string, line: number): string => (line === 0 ? part : part.replace(/^/gm, "   "));

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
  return [line(head), line(head.map((_, at) => (at === 0 ? "---" : "---:"))), ...rows.map(line)].join("\n");
}

/** A phrase with strong text and code marked. Strong pieces that follow each other are one: "**up to 17.9 ms**". */
function rich(phrase: Phrase): string {
  const runs: { strong: boolean; shown: string }[] = [];
  for (const { text: plain, strong, code } of segmentsOf(phrase)) {
    const shown = code ? inCode(plain) : safe(plain);
    const before = runs[runs.length - 1];
    if (before?.strong === strong) before.shown += shown;
    else runs.push({ strong, shown });
  }
  return runs.map(({ strong, shown }) => (strong ? shown.replace(/\S(.*\S)?/s, "**$&**") : shown)).join("");
}

/** Names from a trace may contain any character: none of them may act as markup. */
const safe = (text: string): string => text.replace(/[\\`*_<>|[\]#~&]/g, "\\$&").replace(/\s*[\r\n]+\s*/g, " ");

/** Text as code, enclosed in more backticks than it contains. */
function inCode(text: string): string {
  const ticks = ticksFor(text, 1);
  const edge = text.startsWith("`") || text.endsWith("`") ? " " : "";
  return ticks + edge + text.replace(/\s+/g, " ") + edge + ticks;
}

const fenced = (code: string): string => [`${ticksFor(code, 3)}python`, code, ticksFor(code, 3)].join("\n");

const ticksFor = (text: string, least: number): string =>
  "`".repeat(Math.max(least, 1 + Math.max(0, ...[...text.matchAll(/`+/g)].map(([run]) => run.length))));
