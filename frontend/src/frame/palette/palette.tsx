/** "Go to anything": a search over everything that the tab can show. */

import { useEffect, useId, useMemo, useRef, useState } from "preact/hooks";
import { comparedWith, type Selection } from "../../address/selection";
import { hint } from "../../dom/hint";
import { copy } from "../../dom/save";
import { counted, shortened } from "../../format";
import { answerOnce, pageName, type Source } from "../../server/use_answer";
import { Dialog } from "../dialog";
import { Glass, type PaletteProps } from "./glass";
import {
  commandGoals,
  type Goal,
  type GoalPages,
  kernelGoals,
  matchingGoals,
  opGoals,
  piecesOf,
  queryOf,
  runGoals,
  snapshotGoals,
  stepGoals,
  viewGoals,
} from "./goals";

const NO_PAGES: GoalPages = { overview: null, gpu: null, operators: null };

/** The pages that the palette searches arrive one by one; each is searched as soon as it is there. */
function useGoalPages({ span }: Selection, { client, cache }: Source): GoalPages {
  const [pages, setPages] = useState(NO_PAGES);
  useEffect(() => {
    const ended = new AbortController();
    const bring = async <V extends "overview" | "gpu" | "operators">(view: V) => {
      const page = await answerOnce(
        cache,
        pageName(view, span.id),
        (signal) => client.view(span.id, view, signal),
        ended.signal,
      );
      if (page && !ended.signal.aborted) setPages((before) => ({ ...before, [view]: page }));
    };
    if (span.state === "ready") for (const view of ["overview", "gpu", "operators"] as const) void bring(view);
    return () => ended.abort();
  }, [span, client, cache]);
  return pages;
}

function useGoals({ tab, selection, source }: PaletteProps): readonly Goal[] {
  const pages = useGoalPages(selection, source);
  return useMemo(
    () => [
      ...viewGoals(tab, pages),
      ...(pages.operators ? opGoals(pages.operators) : []),
      ...(pages.gpu ? kernelGoals(pages.gpu) : []),
      ...runGoals(tab.index, selection),
      ...snapshotGoals(tab),
      ...(pages.overview ? stepGoals(pages.overview) : []),
      ...commandGoals(tab, comparedWith(tab.index, tab.state, selection), selection, () => void copy(tab.address())),
    ],
    [tab, selection, pages],
  );
}

const STEPS: Readonly<Record<string, number>> = { ArrowDown: 1, ArrowUp: -1, PageDown: 7, PageUp: -7 };

export function Palette({ close, ...props }: PaletteProps & { close(): void }) {
  const goals = useGoals(props);
  const [typed, setTyped] = useState("");
  const [at, setAt] = useState(0);
  const shown = useMemo(() => matchingGoals(goals, typed), [goals, typed]);
  const { words } = queryOf(typed);
  const list = useRef<HTMLUListElement>(null);
  const id = useId();
  useEffect(() => list.current!.querySelector("[aria-selected=true]")?.scrollIntoView?.({ block: "nearest" }));
  const go = (goal: Goal | undefined, inTimeline = false) => {
    if (!goal) return;
    close();
    const target = (inTimeline && goal.timeline) || goal.go;
    if (typeof target === "function") target();
    else props.tab.update({ ...(goal.kind !== "Command" && { all: null }), ...target });
  };
  const press = (event: KeyboardEvent) => {
    const step = STEPS[event.key];
    if (step !== undefined) setAt(Math.min(shown.length - 1, Math.max(0, at + step)));
    else if (event.key === "Enter") go(shown[at], event.altKey);
    else return;
    event.preventDefault();
  };
  return (
    <Dialog class="palette" label="Go to anything" close={close} onKeyDown={press}>
      <div class="typed">
        <Glass />
        <input
          value={typed}
          aria-label="Words to search for"
          placeholder="A run, snapshot, view, kernel, op, line, step or command"
          role="combobox"
          aria-expanded="true"
          aria-controls={id}
          aria-activedescendant={shown.length > 0 ? `${id}-${at}` : undefined}
          spellcheck={false}
          autocomplete="off"
          onInput={(event) => {
            setTyped(event.currentTarget.value);
            setAt(0);
          }}
        />
        <kbd>Esc</kbd>
      </div>
      <ul role="listbox" id={id} aria-label="What is found" ref={list}>
        {shown.map((goal, place) => (
          <li
            key={`${goal.kind} ${goal.full ?? goal.name} ${place}`}
            id={`${id}-${place}`}
            role="option"
            aria-selected={place === at}
            {...hint(goal.full ?? goal.name)}
            onPointerMove={() => setAt(place)}
            onClick={(event) => go(goal, event.altKey)}
          >
            <span class="kind">{goal.kind}</span>
            <span class="clip">
              {piecesOf(shortened(goal.name, MOST_SHOWN), words).map((piece, odd) =>
                odd % 2 ? <mark key={odd}>{piece}</mark> : piece,
              )}
            </span>
            <span class="aside">{goal.aside}</span>
            <span class="figure">{goal.figure}</span>
          </li>
        ))}
      </ul>
      {shown.length === 0 && <p class="none">Nothing here contains all of these words.</p>}
      <p class="visually-hidden" role="status">
        {words.length > 0 && counted(shown.length, "result")}
      </p>
      <p class="ways">
        <span>
          <kbd>↑</kbd> <kbd>↓</kbd> move
        </span>
        <span>
          <kbd>Enter</kbd> opens
        </span>
        {shown[at]?.timeline && (
          <span>
            <kbd>Alt Enter</kbd> in Timeline
          </span>
        )}
        <span class="push">
          <kbd>:</kbd> line <kbd>#</kbd> step <kbd>&gt;</kbd> command
        </span>
      </p>
    </Dialog>
  );
}

/** The most characters of a name that a row of the palette has room for. */
const MOST_SHOWN = 44;
