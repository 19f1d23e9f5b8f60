/**
 * Memory in a window and at an instant: exact figures from the trace; until they arrive, what the summary contains is
 * shown.
 */

import type { DeviceMemory, MemoryPage, MemoryResult } from "../../api.gen";
import type { ViewSource } from "../../server/client";
import { type Requested, useRequested } from "../../server/requested";
import type { TimeRange } from "../../time_range";
import type { Titles, ViewPart } from "../props";

/** As many bins as a wide picture has pixels. */
const BINS = 1_600;

interface MemoryQuery {
  device: number;
  /** Null: nothing is requested. */
  window: TimeRange | null;
  at: number | null;
}

export type MemoryAnswer = Requested<MemoryPage>;

export function useMemoryPage(events: ViewSource, span: string, { device, window, at }: MemoryQuery): MemoryAnswer {
  const [from, to] = window ? [Math.floor(window.from), Math.ceil(window.to)] : [0, 0];
  const name = window ? [span, device, from, to, at].join() : null;
  return useRequested(events, name, (signal) => events.memory(span, { device, from, to, bins: BINS, at }, signal));
}

export interface MemoryPart extends ViewPart {
  result: MemoryResult;
  device: DeviceMemory;
  /** Index of the device among those of the result. */
  place: number;
  titles: Titles;
  zoom: TimeRange | null;
  /** The instant that was clicked, ns from the span's origin; null: the peak is shown. */
  instant: number | null;
  answer: MemoryAnswer;
}
