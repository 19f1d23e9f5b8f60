/** An answer of the server within a component: requested when its name changes, kept while it is requested again. */

import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import type { Problem } from "../api.gen";
import { useLatest } from "../dom/hooks";
import type { Answer, Client } from "./client";
import { inRounds, type Rounds, retryPause, type Trouble, type Watched } from "./watch";

/**
 * How long to wait while an answer is not ready. The index usually reports sooner; this is for answers that it does not
 * cover.
 */
const WAITING_MS = 1_000;

/** The most pages that the cache keeps, so that going back to a view takes no time. */
const MAX_CACHED = 40;

export type AnswerCache = Map<string, Answer<unknown>>;

export const pageName = (view: string, span: string): string => `${view} ${span}`;

export interface Requested<T> {
  /** The last answer that arrived, never "gone"; null: none yet. */
  answer: Answer<T> | null;
  /** Why the newest request has no answer. */
  trouble: Trouble | null;
  again(): void;
}

/** Why a request has no answer, and when the next attempt is (null: only when the reader asks for one). */
export interface Failure {
  problem: Problem;
  retry_ms: number | null;
}

/** Null while an answer is on its way, and where it is there. */
export const failureOf = ({ answer, trouble }: Omit<Requested<unknown>, "again">): Failure | null =>
  trouble ?? (answer?.kind === "problem" ? { problem: answer.value, retry_ms: null } : null);

/**
 * `name` identifies what is requested (null: nothing); another name aborts the pending request. `version` changes when
 * the answer may have changed. A new version is requested while the old answer stays, and after the pending request:
 * if that were aborted, a server that is slower than the versions change would never answer.
 *
 * `of`: the answer to another name of the same stays until that to the new one arrives; without it none does.
 *
 * An answer equal to the last one causes no rendering. What is shown stays, even when the cache has dropped it to keep
 * newer pages.
 */
export function useAnswer<T>(
  cache: AnswerCache,
  name: string | null,
  version: string,
  ask: (signal: AbortSignal) => Promise<Answer<T>>,
  of = name,
): Requested<T> {
  const [, drawAgain] = useState(0);
  const [trouble, setTrouble] = useState<(Trouble & { name: string }) | null>(null);
  const latest = useLatest({ ask, version });
  const rounds = useRef<Rounds | null>(null);
  useEffect(() => {
    if (name === null) return;
    let unanswered = 0;
    const begun = inRounds(async (signal) => {
      const requested = latest.current;
      const answer = await requested.ask(signal);
      if (signal.aborted) return null;
      if (answer.kind === "gone") {
        unanswered += 1;
        const pause_ms = retryPause(unanswered);
        setTrouble({ name, problem: answer.value, retry_ms: Date.now() + pause_ms });
        return pause_ms;
      }
      unanswered = 0;
      setTrouble(null);
      if (stored(cache, name, answer)) drawAgain((drawn) => drawn + 1);
      if (latest.current.version !== requested.version) return 0;
      return answer.kind === "waiting" ? WAITING_MS : null;
    });
    rounds.current = begun;
    return begun.stop;
  }, [name, cache, latest]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new version is asked for, whatever it is
  useEffect(() => rounds.current?.now(), [version]);
  const shown = useRef<{ of: string | null; answer: Answer<T> } | null>(null);
  const answer = name === null ? undefined : (cache.get(name) as Answer<T> | undefined);
  if (name !== null && answer) shown.current = { of, answer };
  return {
    answer: name !== null && shown.current?.of === of ? shown.current.answer : null,
    trouble: trouble?.name === name ? trouble : null,
    again: useCallback(() => rounds.current?.now(), []),
  };
}

/** An answer outside of a component's rendering: from the cache if it is there, else requested; null: there is none. */
export async function answerOnce<T>(
  cache: AnswerCache,
  name: string,
  ask: (signal?: AbortSignal) => Promise<Answer<T>>,
  signal?: AbortSignal,
): Promise<T | null> {
  const cached = cache.get(name) as Answer<T> | undefined;
  const answer = cached?.kind === "ready" ? cached : await ask(signal);
  if (answer.kind !== "ready") return null;
  if (answer !== cached) stored(cache, name, answer);
  return answer.value;
}

/** Stores an answer and returns whether it differs from the one before. */
function stored(cache: AnswerCache, name: string, answer: Answer<unknown>): boolean {
  const before = cache.get(name);
  const news = !same(before, answer);
  cache.delete(name);
  cache.set(name, news ? answer : before!);
  for (const oldest of cache.keys()) {
    if (cache.size <= MAX_CACHED) break;
    cache.delete(oldest);
  }
  return news;
}

/** Whether two JSON values are equal. Stops at the first difference. */
export function same(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false;
  if (Array.isArray(a) !== Array.isArray(b)) return false;
  const [of, other] = [a as Record<string, unknown>, b as Record<string, unknown>];
  const keys = Object.keys(of);
  return keys.length === Object.keys(other).length && keys.every((key) => key in other && same(of[key], other[key]));
}

export interface Source {
  client: Client;
  cache: AnswerCache;
  watched: Watched;
  watch: Rounds;
}
