/**
 * Many lines that are not drawn individually, as columns: which of them have a value at a stop, and which of these is
 * nearest to a height.
 *
 *     line 0   stops 0 1 2   values 5 6 7         stop 0   lines 0      values 5
 *     line 1   stops   1 2   values   8 9    ->   stop 1   lines 0 1    values 6 8
 *                                                 stop 2   lines 0 1    values 7 9
 */

import type { ChartLine, Crowd, CrowdLine } from "./line_layout";

export const NOBODY: Crowd = {
  lines: [],
  from: new Int32Array(1),
  line: new Int32Array(0),
  value: new Float64Array(0),
};

export function crowdOf(lines: readonly CrowdLine[], stops: number): Crowd {
  const from = new Int32Array(stops + 1);
  for (const each of lines)
    for (let at = 0; at < each.stops.length; at++) if (isKnown(each, at)) from[each.stops[at]! + 1]! += 1;
  for (let stop = 0; stop < stops; stop++) from[stop + 1]! += from[stop]!;
  const next = from.slice();
  const line = new Int32Array(from[stops]!);
  const value = new Float64Array(from[stops]!);
  lines.forEach((each, which) => {
    for (let at = 0; at < each.stops.length; at++) {
      if (!isKnown(each, at)) continue;
      const place = next[each.stops[at]!]!++;
      line[place] = which;
      value[place] = each.values[at]!;
    }
  });
  return { lines, from, line, value };
}

const isKnown = ({ values }: CrowdLine, at: number): boolean => !Number.isNaN(values[at]!);

export const valuesAt = ({ from, value }: Crowd, stop: number): Float64Array =>
  value.subarray(from[stop] ?? 0, from[stop + 1] ?? 0);

/**
 * The key of the line whose value at a stop has the smallest distance by `apart`; null where no line has a value there.
 */
export function nearestAt(crowd: Crowd, stop: number, apart: (value: number) => number): string | null {
  let [best, least] = [-1, Infinity];
  for (let at = crowd.from[stop] ?? 0; at < (crowd.from[stop + 1] ?? 0); at++) {
    const distance = apart(crowd.value[at]!);
    if (distance < least) [best, least] = [crowd.line[at]!, distance];
  }
  return best < 0 ? null : crowd.lines[best]!.key;
}

/** The value of a line at a stop; null where it has none. */
export function valueIn(crowd: Crowd, key: string, stop: number): number | null {
  for (let at = crowd.from[stop] ?? 0; at < (crowd.from[stop + 1] ?? 0); at++)
    if (crowd.lines[crowd.line[at]!]!.key === key) return crowd.value[at]!;
  return null;
}

export function lineIn({ lines }: Crowd, key: string | null): ChartLine | undefined {
  const found = lines.find((line) => line.key === key);
  if (!found) return undefined;
  const points = Array.from(found.stops, (stop, at) =>
    isKnown(found, at) ? { stop, value: found.values[at]! } : null,
  );
  return { key: found.key, name: found.name, focus: false, points };
}
