/**
 * The text of a file with the cost of each line beside it, and the files by their heat. One line is chosen: it is the
 * same in the table, the flame graph, the call tree and the address.
 */

import type { RefObject } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { CodeLine, SourceText } from "../../../api.gen";
import { InlineBar } from "../../../charts/bars/split_bar";
import { lineName, shortName, sourceLine } from "../../../code_line";
import { factorOf } from "../../../components/figures";
import { Details } from "../../../components/sentence";
import { textOf } from "../../../components/waiting";
import { hint } from "../../../dom/hint";
import { isPlain } from "../../../dom/keys";
import { counted, type Scale } from "../../../format";
import { columnHead } from "../../../meanings";
import { scaleOf } from "../../../scale";
import { useRequested } from "../../../server/requested";
import { readingOf } from "../../choices";
import { signed } from "../../compare/difference";
import type { OperatorPart } from "../tables";
import { filesOf, type Mark, type Measure, marksByLine, shownLines } from "./rows";

interface SourceViewProps {
  part: OperatorPart;
  span: string;
  chosen: CodeLine;
  measures: readonly [Measure, ...Measure[]];
  /** By line: how much more it takes than in the span that is compared, ns per step. */
  moved: ReadonlyMap<string, number> | null;
}

export function SourceView({ part, span, chosen, measures, moved }: SourceViewProps) {
  const { result, tab } = part;
  const { rows } = result.lines!;
  const box = useRef<HTMLElement>(null);
  const editor = useRef<HTMLAnchorElement>(null);
  const files = useMemo(() => filesOf(rows, measures[0]), [rows, measures]);
  const file = sourceLine(chosen.source)?.file ?? "";
  const { source } = tab.source;
  const { page: text, problem } = useRequested(tab.source, source ? `${span} ${file}` : null, (signal) =>
    source!(span, file, signal),
  );
  const isOpen = tab.state.line !== undefined;
  // biome-ignore lint/correctness/useExhaustiveDependencies: a link to a line leads here, a press in the view does not
  useEffect(() => {
    if (isOpen) box.current?.scrollIntoView({ block: "center" });
  }, []);
  /** V follows the link to the editor, where there is one; D shows or hides the change of each line. */
  const typed = (event: KeyboardEvent) => {
    if (!isPlain(event)) return;
    if (event.key === "v" && editor.current) editor.current.click();
    else if (event.key === "d" && part.compared) tab.update({ line_change: tab.state.line_change ? null : "off" });
    else return;
    event.preventDefault();
  };
  return (
    <section class="source" ref={box} aria-label="Source text" data-takes-keys onKeyDown={typed}>
      <Head part={part} chosen={chosen} text={text} editor={editor} />
      <div class={files.length > 1 ? "source-pair" : undefined}>
        {files.length > 1 && (
          <Files
            {...{ files, file }}
            open={(name) => tab.update({ line: rows.find((row) => sourceLine(row.source)?.file === name)!.source })}
          />
        )}
        {text && text.origin !== null ? (
          <Text key={file} {...{ part, text, chosen, measures, moved }} />
        ) : (
          <p class="quiet small source-none">
            {!source ? "A report holds no source text." : text ? "This file is not here." : problem && textOf(problem)}
            {text && <Details text={HOW_TO_ADD} />}
          </p>
        )}
      </div>
    </section>
  );
}

const HOW_TO_ADD =
  "Record with profile_steps(…, sources=True), or start TensorBoard with the folder of your code in its environment: " +
  "TB_STEPTIME_SOURCES=/path/to/code.";

interface HeadProps {
  part: OperatorPart;
  chosen: CodeLine;
  text: SourceText | null;
  /** The line's link to the editor, where there is one. */
  editor: RefObject<HTMLAnchorElement | null>;
}

/** The chosen line, and links to other places that show it. */
function Head({ part: { tab }, chosen, text, editor }: HeadProps) {
  const found = sourceLine(chosen.source);
  const inEditor = tab.state.editor === "vscode";
  return (
    <div class="source-head">
      <h3 {...hint(lineName(chosen.source))}>{shortName(chosen.source)}</h3>
      <span class="sub">{text?.origin ? ORIGIN[text.origin] : ""}</span>
      <button class="link" onClick={() => tab.update({ view: "timeline", find: chosen.source })}>
        Find in the Timeline
      </button>
      {text?.path && found && (
        <>
          {inEditor && (
            <a class="link" ref={editor} href={editorLink(text.path, found.line)}>
              Open in VS Code
            </a>
          )}
          <label class="tick small">
            <input
              type="checkbox"
              checked={inEditor}
              onChange={() => tab.update({ editor: inEditor ? null : "vscode" })}
            />
            Links to VS Code
          </label>
        </>
      )}
    </div>
  );
}

const ORIGIN: Readonly<Record<NonNullable<SourceText["origin"]>, string>> = {
  recorded: "as it was recorded",
  folder: "as it is now in TB_STEPTIME_SOURCES",
};

export function editorLink(path: string, line: number): string {
  const written = encodeURI(path.replaceAll("\\", "/")).replaceAll("#", "%23").replaceAll("?", "%3F");
  return `vscode://file${written.startsWith("/") ? "" : "/"}${written}:${line}`;
}

interface FilesProps {
  files: ReturnType<typeof filesOf>;
  file: string;
  open(name: string): void;
}

function Files({ files, file, open }: FilesProps) {
  const baseOf = (name: string) => name.replace(/^.*\//, "");
  /** Two files of one name are told apart by their folders. */
  const shown = (name: string) =>
    files.some((other) => other.name !== name && baseOf(other.name) === baseOf(name))
      ? name.replace(/^.*\/(?=[^/]*\/)/, "")
      : baseOf(name);
  const most = Math.max(1, ...files.map(({ heat }) => heat));
  return (
    <ul class="source-files" aria-label="Files, the hottest first">
      {files.map(({ name, heat }) => (
        <li key={name}>
          <button aria-pressed={name === file} data-hint={name} onClick={() => open(name)}>
            <span class="clip">{shown(name)}</span>
            <InlineBar segments={[{ share: heat / most, colour: "cpu" }]} />
          </button>
        </li>
      ))}
    </ul>
  );
}

interface TextProps extends Omit<SourceViewProps, "span"> {
  text: SourceText;
}

/** The arrow keys go to the previous or next line with figures. */
function Text({ part: { result, tab }, text, chosen, measures, moved }: TextProps) {
  const box = useRef<HTMLDivElement>(null);
  const [opened, open] = useState<ReadonlySet<number>>(new Set());
  const { lines, marks } = text;
  const around = useMemo(() => marksByLine(lines.length, marks), [lines, marks]);
  const shown = useMemo(() => shownLines(lines.length, marks, opened), [lines, marks, opened]);
  const figures = useFigures(result.lines!.rows, marks, measures, readingOf(tab), moved);
  const located = marks.filter(({ first }) => first > 0).sort((a, b) => a.first - b.first);
  const own = located.find(({ source }) => source === chosen.source);
  useEffect(() => {
    const element = own && box.current?.querySelector<HTMLElement>(`[data-line="${own.first}"]`);
    if (element) box.current!.scrollTop = element.offsetTop - box.current!.clientHeight / 3;
  }, [own]);
  const typed = (event: KeyboardEvent) => {
    const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    const next = located[located.findIndex(({ source }) => source === chosen.source) + step];
    if (step === 0 || !next) return;
    event.preventDefault();
    tab.update({ line: next.source });
  };
  return (
    <div>
      <Missed marks={marks} />
      <div
        class="source-text"
        role="application"
        aria-roledescription="source text"
        aria-label={`${text.file}, with what its lines cost`}
        tabIndex={0}
        ref={box}
        style={{ "--all-measures": measures.length, ...(moved && { "--moved": "76px" }) }}
        onKeyDown={typed}
      >
        <div class="source-line heads">
          <span />
          {measures.map(({ id, metric }) => {
            const { label, meaning } = columnHead(tab.meanings, metric);
            return (
              <span key={id} class="measure" {...hint(meaning ?? "")} tabIndex={-1}>
                {label}
              </span>
            );
          })}
          {moved && <span>Change</span>}
          <span />
        </div>
        {shown.map((each) =>
          each.kind === "fold" ? (
            <button
              key={`fold ${each.first}`}
              class="link source-fold"
              onClick={() => open(new Set([...opened, each.first]))}
            >
              {counted(each.last - each.first + 1, "line")} without figures
            </button>
          ) : (
            <Line
              key={each.line}
              line={each.line}
              code={lines[each.line - 1]!}
              mark={around[each.line]}
              {...{ figures, measures, moved }}
              chosen={around[each.line]?.source === chosen.source}
              choose={(source) => tab.update({ line: source })}
            />
          ),
        )}
      </div>
    </div>
  );
}

function Missed({ marks }: { marks: readonly Mark[] }) {
  const missed = marks.filter(({ meaning }) => meaning === "other").length;
  if (missed === 0) return null;
  return (
    <p class="quiet small aside">
      {counted(missed, "line")} of {marks.length} {missed === 1 ? "is" : "are"} not what the trace says stands there:
      this is another version of the file. {missed === 1 ? "It has" : "They have"} no figures here.
    </p>
  );
}

interface Figures {
  /** The figure of the line on which a mark begins, by measure. */
  of(line: number, measure: Measure): number;
  largest(measure: Measure): number;
  scale(measure: Measure): Scale;
  moved(line: number): number | null;
}

/** Rows on the same line are added up, such as those of two lambdas. */
function useFigures(
  rows: readonly CodeLine[],
  marks: readonly Mark[],
  measures: readonly Measure[],
  reading: ReturnType<typeof readingOf>,
  moved: ReadonlyMap<string, number> | null,
): Figures {
  const { totals, steps, unit } = reading;
  return useMemo(() => {
    const bySource = new Map(rows.map((row) => [row.source, row]));
    const factor = factorOf("recording", { totals, steps, unit });
    const sums = new Map<string, number>();
    const moves = new Map<number, number>();
    for (const { source, first } of marks) {
      const row = first > 0 ? bySource.get(source) : undefined;
      if (!row) continue;
      for (const { id } of measures) {
        const key = `${id} ${first}`;
        sums.set(key, (sums.get(key) ?? 0) + factor * (row[id] ?? 0));
      }
      const change = moved?.get(source);
      if (change !== undefined) moves.set(first, (moves.get(first) ?? 0) + change);
    }
    const valuesOf = (unit: string) =>
      measures
        .filter((each) => each.unit === unit)
        .flatMap(({ id }) => marks.map(({ first }) => sums.get(`${id} ${first}`) ?? 0));
    const scales = {
      ns: scaleOf(valuesOf("ns"), "ns", unit, true),
      bytes: scaleOf(valuesOf("bytes"), "bytes", "auto", true),
    };
    return {
      of: (line, { id }) => sums.get(`${id} ${line}`) ?? 0,
      largest: ({ id }) => Math.max(1, ...rows.map((row) => factor * (row[id] ?? 0))),
      scale: ({ unit }) => (unit === "bytes" ? scales.bytes : scales.ns),
      moved: (line) => moves.get(line) ?? null,
    };
  }, [rows, marks, measures, totals, steps, unit, moved]);
}

/** The tint of the hottest line, as a share of its colour. */
const MOST_TINT = 16;

interface LineProps {
  line: number;
  code: string;
  mark: Mark | undefined;
  figures: Figures;
  measures: readonly [Measure, ...Measure[]];
  moved: ReadonlyMap<string, number> | null;
  chosen: boolean;
  choose(source: string): void;
}

function Line({ line, code, mark, figures, measures, moved, chosen, choose }: LineProps) {
  const begins = mark?.first === line;
  const heat = mark ? figures.of(mark.first, measures[0]) / figures.largest(measures[0]) : 0;
  const tint = MOST_TINT * Math.min(1, heat);
  const change = begins ? figures.moved(line) : null;
  return (
    <div
      class={chosen ? "source-line chosen" : "source-line"}
      data-line={line}
      style={
        tint >= 0.5 ? { background: `color-mix(in srgb, var(--c-cpu) ${tint.toFixed(1)}%, var(--surface))` } : undefined
      }
      onClick={mark && (() => choose(mark.source))}
    >
      <span class="no">{line}</span>
      {measures.map((measure) => {
        const value = begins ? figures.of(line, measure) : 0;
        return (
          <span key={measure.id} class="heat">
            {value > 0 && (
              <>
                <b>{figures.scale(measure).text(value)}</b>
                <InlineBar
                  segments={[
                    { share: value / figures.largest(measure), colour: measure.colour, hatched: measure.hatched },
                  ]}
                />
              </>
            )}
          </span>
        );
      })}
      {moved && <span class="moved">{change === null ? "" : signed(change, figures.scale(measures[0]))}</span>}
      <code {...(begins && mark.meaning === "reached" ? hint(REACHED) : {})} tabIndex={-1}>
        {code}
      </code>
    </div>
  );
}

const REACHED = "The line that the function had reached when the recording began, or where a generator went on.";
