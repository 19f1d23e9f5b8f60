/** What the palette can go to: each goal with its figure, ordered by size; and which goals match the typed words. */

import { sum } from "d3-array";
import type { Changes } from "../../address/keys";
import { compareKey, endOfComparison, inRun, keysOf, type Selection, stepInTimeline } from "../../address/selection";
import type { Index, PageOf } from "../../api.gen";
import { bytes, counted, DASH, ns, percent } from "../../format";
import { markOf } from "../../views/choices";
import { ANEW, nameOf } from "../../views/memory/snapshot/choice";
import type { Tab } from "../../views/props";
import { anyOf, holds, wordsOf } from "../../words";
import { keyedViews, viewAlone } from "../view_keys";

type GoalKind = "Run" | "Snapshot" | "View" | "Kernel" | "Op" | "Module" | "Line" | "Step" | "Command";

export interface Goal {
  kind: GoalKind;
  name: string;
  /** A longer text that the search covers in addition to the name. */
  full?: string;
  /** Written before the figure: "3 calls a step". */
  aside?: string;
  figure: string;
  /** The changes that Enter writes into the address, or the action that it performs. */
  go: Changes | (() => void);
  /** The changes for Alt and Enter: the same goal in the Timeline. */
  timeline?: Changes;
}

/** The pages that name kernels, ops, lines and steps; null until they arrive. */
export interface GoalPages {
  overview: PageOf<"overview"> | null;
  gpu: PageOf<"gpu"> | null;
  operators: PageOf<"operators"> | null;
}

export function viewGoals(tab: Tab, pages: GoalPages): Goal[] {
  const sidebar = pages.overview?.head.sidebar ?? {};
  return keyedViews(tab).map(({ id, title, share, key }) => {
    const value = share === "" ? undefined : sidebar[id];
    return {
      kind: "View",
      name: title,
      ...(key && { aside: `key ${key}` }),
      figure: value && value.share !== null ? `${percent(value.share)} of the step` : "",
      go: viewAlone(id),
    };
  });
}

/** `full` holds words by which a reader looks for one who does not know its name. */
export function snapshotGoals({ index, written_ms }: Tab): Goal[] {
  if (written_ms !== undefined) return [];
  return index.snapshots.map((entry) => ({
    kind: "Snapshot",
    name: entry.run === "." ? nameOf(entry) : `${entry.run}: ${nameOf(entry)}`,
    full: `${entry.file} memory snapshot`,
    figure: bytes(entry.file_bytes),
    go: { ...viewAlone("memory"), ...ANEW, snapshot: entry.id },
  }));
}

export function runGoals({ runs }: Index, like: Selection): Goal[] {
  return runs.flatMap((run): Goal[] => {
    const chosen = inRun(run, like);
    if (!chosen) return [];
    const spans = sum(run.workers, ({ spans }) => spans.length);
    const { mean_step_ns: step, state } = chosen.span;
    return [
      {
        kind: "Run",
        name: run.name,
        ...(spans > 1 && { aside: counted(spans, "span") }),
        figure: step === null ? (state === "failed" ? "failed" : DASH) : `${ns(step)} a step`,
        go: keysOf(chosen),
      },
    ];
  });
}

export function kernelGoals({ head, result }: PageOf<"gpu">): Goal[] {
  const steps = Math.max(1, head.step_count);
  return result.devices.flatMap((device) => {
    const table = device.tables.find(({ by }) => by === "name") ?? device.tables[0];
    return (table?.rows ?? []).map(
      (row): Goal => ({
        kind: "Kernel",
        name: row.short,
        full: row.name,
        aside: perStep(row.count / steps, "launch", "launches"),
        figure: `${ns(row.total_ns / steps)} a step`,
        go: {
          view: "gpu",
          by: null,
          kernel: null,
          device: result.devices.length > 1 ? device.device : null,
          opened: row.name,
          mark: markOf({ table: "kernels", key: row.name }),
        },
      }),
    );
  });
}

export function opGoals({ head, result }: PageOf<"operators">): Goal[] {
  const steps = Math.max(1, head.step_count);
  const ops = result.tables.find(({ by, where }) => by === "name" && where === "ran")?.rows ?? [];
  return [
    ...ops.map(
      (row): Goal => ({
        kind: "Op",
        name: row.name,
        aside: perStep(row.calls / steps, "call"),
        figure: `${ns(row.host_self_ns / steps)} on the CPU`,
        go: {
          view: "operators",
          by: null,
          ops: null,
          op: row.name,
          mark: markOf({ table: "operators", key: row.name }),
        },
      }),
    ),
    ...linesOf(result, steps),
    ...result.modules.map(
      (row): Goal => ({
        kind: "Module",
        name: row.name,
        figure: `${ns(row.host_total_ns / steps)} on the CPU`,
        go: { view: "operators", mark: null },
      }),
    ),
  ];
}

/** GPU idle time before a line's launches matters more than the CPU time in the line. */
const linesOf = ({ lines }: PageOf<"operators">["result"], steps: number): Goal[] =>
  (lines?.rows ?? []).map(
    ({ source, idle_ns, host_self_ns }): Goal => ({
      kind: "Line",
      name: source,
      figure: (idle_ns ?? 0) > 0 ? `${ns(idle_ns! / steps)} GPU idle` : `${ns(host_self_ns / steps)} on the CPU`,
      go: { view: "operators", line: source, mark: null },
    }),
  );

export const stepGoals = ({ result }: PageOf<"overview">): Goal[] =>
  result.steps.map(({ name, duration_ns, slow }) => ({
    kind: "Step",
    name: `Step ${name}`,
    ...(slow && { aside: "slow" }),
    figure: ns(duration_ns),
    go: { step: name },
    timeline: stepInTimeline(name),
  }));

const UNITS = [
  ["auto", "in the unit that fits"],
  ["us", "in µs"],
  ["ms", "in ms"],
  ["s", "in s"],
] as const;

/** Commands and settings that are available everywhere. `copy` puts the link on the clipboard. */
export function commandGoals(tab: Tab, compared: Selection | null, chosen: Selection, copy: () => void): Goal[] {
  const { totals, unit } = tab.state;
  const command = (name: string, go: Goal["go"], figure = ""): Goal => ({ kind: "Command", name, figure, go });
  const set = (on: boolean) => (on ? "set" : "");
  return [
    ...(compared
      ? [
          command("Drop the comparison", endOfComparison(tab.state)),
          command("Swap the two that are compared", { ...keysOf(compared), with: compareKey(chosen) }),
        ]
      : []),
    ...(tab.index.runs.length > 1 ? [command("Show all runs", { all: "runs" })] : []),
    command("Copy the link to this page", copy),
    command("Figures per step", { totals: null }, set(totals === undefined)),
    command("Figures of all steps together", { totals: "recording" }, set(totals === "recording")),
    ...UNITS.map(([id, words]) =>
      command(`Times ${words}`, { unit: id === "auto" ? null : id }, set((unit ?? "auto") === id)),
    ),
  ];
}

/** "3 calls a step"; empty where that rounds to 0. */
function perStep(value: number, one: string, many?: string): string {
  const shown = value >= 10 ? Math.round(value) : Math.round(10 * value) / 10;
  return shown === 0 ? "" : `${counted(shown, one, many)} a step`;
}

/** A first character that limits the search to some kinds. */
const ONLY: Readonly<Record<string, readonly GoalKind[]>> = { ":": ["Line"], "#": ["Step"], ">": ["Command"] };

/** The most goals that are listed; a longer list would not help. */
const MOST = 60;

interface Query {
  words: readonly string[];
  /** Null: all kinds. */
  kinds: readonly GoalKind[] | null;
}

export function queryOf(typed: string): Query {
  const kinds = ONLY[typed.trimStart().charAt(0)] ?? null;
  const text = kinds ? typed.trimStart().slice(1) : typed;
  return { words: wordsOf(text), kinds };
}

/**
 * Goals that contain every word, in any order and case: first those with a word that begins with the first typed word,
 * else in the given order.
 */
export function matchingGoals(goals: readonly Goal[], typed: string): readonly Goal[] {
  const { words, kinds } = queryOf(typed);
  const among = kinds ? goals.filter(({ kind }) => kinds.includes(kind)) : goals;
  if (words.length === 0) return among.slice(0, MOST);
  const holding = among.filter(({ name, full = "", kind }) => holds(`${name} ${full} ${kind}`, words));
  const [begins, others] = [true, false].map((atBegin) =>
    holding.filter(({ name }) => beginsWord(name.toLowerCase(), words[0]!) === atBegin),
  );
  return [...begins!, ...others!].slice(0, MOST);
}

function beginsWord(name: string, word: string): boolean {
  for (let at = name.indexOf(word); at >= 0; at = name.indexOf(word, at + 1)) {
    if (at === 0 || !/[\p{L}\p{N}]/u.test(name[at - 1]!)) return true;
  }
  return false;
}

/** A name in pieces; those that match a word are at odd indices. */
export function piecesOf(name: string, words: readonly string[]): string[] {
  if (words.length === 0) return [name];
  const longest = [...words].sort((a, b) => b.length - a.length);
  return name.split(new RegExp(anyOf(longest), "i"));
}
