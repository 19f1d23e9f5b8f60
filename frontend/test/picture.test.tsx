import { expect, test } from "vitest";
import { Picture } from "../src/components/picture";
import { words } from "./fixtures/words";

const head = (title: string, sub: string) =>
  words(
    <Picture title={title} sub={sub} name="copies" table={() => ({ columns: [], rows: [] })}>
      drawn
    </Picture>,
  );

test("a subtitle that the title contains is not repeated", () => {
  expect(head("Copies take 20 µs a step", "a step")).not.toContain("|a step|");
  expect(head("Which phase takes the step?", "a step")).toContain("|Which phase takes the step?|a step|");
  expect(head("Copies take 20 µs a step", "in 15 steps")).toContain("|Copies take 20 µs a step|in 15 steps|");
});
