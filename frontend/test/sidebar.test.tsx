/** The list of views with their shares, and where the figures come from. */

import { renderToString } from "preact-render-to-string";
import { expect, test } from "vitest";
import { ViewList } from "../src/frame/views";
import { MEANINGS } from "./fixtures/meanings";
import { because, HEAD, TAB } from "./fixtures/pages";
import { words } from "./fixtures/words";

test("the list of views has a share for what explains a part of the step, a dash with its reason for the rest", () => {
  const unknown = {
    share: null,
    colour: "kernel",
    hatched: true,
    reason: because("no_kernels_in_steps"),
    meaning: null,
  };
  const list = (
    <ViewList
      current="overview"
      meanings={MEANINGS}
      head={{ ...HEAD, sidebar: { ...HEAD.sidebar, tensor_cores: unknown } }}
      tab={TAB}
    />
  );
  expect(words(list)).toBe(
    "|Overview|Trends|Data loading|33 %|Tensor cores|–|Host|Ranks|Timeline|Tesla V100|80 SMs|" +
      "2 steps, 8 June 2021|75 718 events, 1.2 MB|",
  );
  const html = renderToString(list);
  expect(html).toContain(
    'data-hint="Share of the step that waits for a batch.\n' +
      'Two views may explain the same time of the mean step, so the shares have no sum.\nKey 3"',
  );
  expect(html).toContain('data-hint="Share of the step.\nNo kernel runs.\nKey 4"');
});

test("the share of the tensor cores is what misses them: a tile gives the share that is on them", () => {
  const missed = { share: 0.38, colour: "kernel", hatched: true, reason: null, meaning: null };
  const head = { ...HEAD, sidebar: { ...HEAD.sidebar, tensor_cores: missed } };
  expect(words(<ViewList current="overview" meanings={MEANINGS} head={head} tab={TAB} />)).toContain(
    "|Tensor cores|38 % missed|",
  );
});

test.each([
  ["marks", "2 steps, 8 June 2021"],
  ["inferred", "2 inferred steps, 8 June 2021"],
  ["recording", "the recording as one step, 8 June 2021"],
] as const)("where the steps come from is said: %s", (steps_by, text) => {
  const list = <ViewList current="overview" meanings={MEANINGS} head={{ ...HEAD, steps_by }} tab={TAB} />;
  expect(words(list)).toContain(`|${text}|`);
});

test("the rail of a view is as long as its share; under 1 % there is none", () => {
  const rails = [0.4, 0.01, 0.009, 0, null].map((share) => {
    const waits = { share, colour: "data_loading", hatched: false, reason: null, meaning: null };
    const head = { ...HEAD, sidebar: { data_loading: waits } };
    return renderToString(<ViewList current="overview" meanings={MEANINGS} head={head} tab={TAB} />);
  });
  expect(rails.map((html) => /share-bar.*?width:([\d.]+%)/.exec(html)?.[1])).toEqual([
    ...["40%", "1%"],
    ...[undefined, undefined, undefined],
  ]);
});
