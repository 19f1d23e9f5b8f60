/** The summary of a span as Markdown, for a pull request or an issue: verdict, mean step, figures, what to do. */

import type { Insight, PageOf, PartMeaning, Parts, Phrase, SpanHead } from "../api.gen";
import { counted, ns, percent, rangeText, share, text } from "../format";
import type { Meanings } from "../meanings";
import { segmentsOf, sentence } from "../phrase";
import type { Tab } from "./props";
import { triedWords, triesOf } from "./tried";

export function summaryMarkdown(page: PageOf<"overview">, tab: Tab): string {
  const { meanings } = tab;
  const { head, headline, insights } = page;
  return [
    `**${safe(sentence(headline.verdict))}**`,
    ...[headline.action, headline.basis].flatMap((each) => (each ? [rich(each)] : [])),
    originOf(head),
    ...(head.simulated === null ? [] : [`**Simulated, not recorded.** ${safe(head.simulated)}`]),
    meanStep(page, meanings.parts),
    triedLine(page, tab),
    figures(page, meanings),
    ...(insights.length === 0 ? [] : ["**What to do, most important first**", insights.map(card).join("\n\n")]),
    `<sub>Step Insights ${safe(meanings.version)}</sub>`,
  ]
    .filter((block) => block !== "")
    .join("\n\n")
    .replaceAll("\u00a0", " ");
}

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

/** A phrase with strong text and code marked. */
const rich = (phrase: Phrase): string =>
  segmentsOf(phrase)
    .map(({ text: plain, strong, code }) => {
      const shown = code ? inCode(plain) : safe(plain);
      return strong && plain.trim() !== "" ? `**${shown.trim()}**` : shown;
    })
    .join("");

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
