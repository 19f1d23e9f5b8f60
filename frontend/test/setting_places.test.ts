import { expect, test } from "vitest";
import type { FitSetting } from "../src/api.gen";
import { placed } from "../src/views/memory/fit/places";

const setting = (label: string, peak_bytes: number, step_ns: number | null, best: boolean): FitSetting => ({
  label,
  code: null,
  peak_bytes,
  ...{ low_bytes: peak_bytes, high_bytes: peak_bytes, again_ns: null, step_ns, largest: null, best },
  ...{ unknown: null, no_time: null, copied_bytes: null, copy_ns: null },
});

const FRAME = { x: (bytes: number) => bytes, y: (ns: number) => 100 - ns, untimed: 130, right: 300 };

test("a name stands at the right of its point, at its left where there is no room, or nowhere", () => {
  const found = placed(
    [
      setting("As recorded", 290, 50, true),
      setting("Checkpoint every Block", 100, 80, true),
      setting("Checkpoint every Linear", 102, 82, false),
      setting("SGD", 100, null, false),
    ],
    FRAME,
  );
  expect(found.map(({ x, y, label }) => [x, y, label?.end])).toEqual([
    [290, 50, true],
    [100, 20, false],
    [102, 18, undefined],
    [100, 130, false],
  ]);
});
