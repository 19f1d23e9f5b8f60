import { render, screen, waitFor } from "@testing-library/preact";
import { expect, test, vi } from "vitest";
import type { Answer } from "../../src/server/client";
import { untilReady, useRequested } from "../../src/server/requested";
import { type AnswerCache, useAnswer } from "../../src/server/use_answer";
import { ready } from "../fixtures/pages";

const answered = (value: string) => async () => ready(value);

function Shown({ cache, page }: { cache: AnswerCache; page: number }) {
  const words = useAnswer(cache, "words", "", answered("words"));
  const view = useAnswer(cache, `view ${page}`, "", answered(`page ${page}`));
  return <p>{[words, view].map(({ answer }) => (answer?.kind === "ready" ? answer.value : "none")).join(", ")}</p>;
}

test("what is shown stays, however many other answers come meanwhile", async () => {
  const cache: AnswerCache = new Map();
  const { rerender } = render(<Shown cache={cache} page={0} />);
  for (let page = 0; page < 60; page++) {
    rerender(<Shown cache={cache} page={page} />);
    await waitFor(() => expect(screen.getByText(`words, page ${page}`)).toBeDefined());
  }
  expect(cache.size).toBeLessThan(60);
});

const GONE = { kind: "gone", value: { problem: "No answer", hint: "" } } as Answer<string>;
const WAITING = { kind: "waiting", value: {} } as Answer<string>;
const READY: Answer<string> = ready("here");

test("an answer is requested until it is there, and ever less often where none arrives", async () => {
  vi.useFakeTimers({ now: 0 });
  const requests: number[] = [];
  const taken: string[] = [];
  const answers = [WAITING, GONE, GONE, GONE, WAITING, READY, READY];
  const ask = async () => {
    requests.push(Date.now());
    return answers.shift()!;
  };
  untilReady(ask, ({ kind }) => taken.push(kind), { rest_ms: 150 });
  await vi.advanceTimersByTimeAsync(60_000);
  expect(requests).toEqual([150, 1_150, 2_150, 4_150, 8_150, 9_150]);
  expect(taken).toEqual(["waiting", "gone", "gone", "gone", "waiting", "ready"]);
});

test("nothing is requested or taken once it is no longer wanted", async () => {
  vi.useFakeTimers();
  const taken: string[] = [];
  let count = 0;
  const ask = async () => {
    count += 1;
    await new Promise((done) => setTimeout(done, 100));
    return WAITING;
  };
  const early = untilReady(ask, ({ kind }) => taken.push(kind), { rest_ms: 150 });
  await vi.advanceTimersByTimeAsync(100);
  early();
  await vi.advanceTimersByTimeAsync(10_000);
  expect(count).toBe(0);
  const late = untilReady(ask, ({ kind }) => taken.push(kind), { waiting_ms: 500 });
  await vi.advanceTimersByTimeAsync(650);
  late();
  await vi.advanceTimersByTimeAsync(10_000);
  expect([count, taken]).toEqual([2, ["waiting"]]);
});

test("what is shown is the answer to the current request, never that to a previous one", async () => {
  const source = {};
  const pending = new Map<string, (answer: Answer<string>) => void>();
  const ask = (name: string) => () => new Promise<Answer<string>>((done) => pending.set(name, done));
  function Requested({ name }: { name: string | null }) {
    const { page, problem, waiting } = useRequested(source, name, ask(name ?? ""));
    return <p>{page ?? problem?.problem ?? (waiting ? "waiting" : "nothing")}</p>;
  }
  const shows = (text: string) => waitFor(() => expect(screen.getByText(text)).toBeDefined());
  const { rerender } = render(<Requested name={null} />);
  await shows("nothing");
  rerender(<Requested name="first" />);
  rerender(<Requested name="second" />);
  await shows("waiting");
  pending.get("first")!(READY);
  await Promise.resolve();
  await shows("waiting");
  pending.get("second")!({ kind: "problem", value: { problem: "It is gone", hint: "" } } as Answer<string>);
  await shows("It is gone");
  rerender(<Requested name={null} />);
  await shows("nothing");
});

test("where the server did not answer it says so and asks again; a page of the previous name may stay", async () => {
  vi.useFakeTimers({ shouldAdvanceTime: true });
  const source = {};
  const answers = [GONE, READY, GONE, { ...READY, value: "there" }, READY] as Answer<string>[];
  function Requested({ name, stays }: { name: string; stays: boolean }) {
    const { page, problem } = useRequested(source, name, async () => answers.shift()!, stays);
    return <p>{`${page} ${problem?.problem}`}</p>;
  }
  const shows = (text: string) => waitFor(() => expect(screen.getByText(text)).toBeDefined());
  const { rerender } = render(<Requested name="first" stays />);
  await shows("null No answer");
  await vi.advanceTimersByTimeAsync(1_000);
  await shows("here undefined");
  rerender(<Requested name="second" stays />);
  await shows("here No answer");
  await vi.advanceTimersByTimeAsync(1_000);
  await shows("there undefined");
  rerender(<Requested name="third" stays={false} />);
  await shows("null undefined");
  await shows("here undefined");
  vi.useRealTimers();
});
