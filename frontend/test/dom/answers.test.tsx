// @vitest-environment happy-dom

import { render, screen, waitFor } from "@testing-library/preact";
import { expect, test } from "vitest";
import { type AnswerCache, useAnswer } from "../../src/server/use_answer";

const answered = (value: string) => async () => ({ kind: "ready" as const, value });

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
