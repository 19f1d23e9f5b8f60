/**
 * How busy the GPUs were in a range of the trace: exact figures from the server; merged boxes would count gaps as work.
 */

import type { BusyBins } from "../../../api.gen";
import type { ViewSource } from "../../../server/client";
import { type Requested, useRequested } from "../../../server/requested";
import type { TimeRange } from "../../../time_range";

/** The busy share of a range that is being dragged is requested once the range stops changing for this long. */
const REST_MS = 120;

/** The previous answer stays until the next one arrives. */
export const useBusy = (
  events: ViewSource,
  span: string,
  { from, to }: TimeRange,
  bins: number,
  rest_ms = 0,
): Requested<BusyBins> =>
  useRequested(
    events,
    [span, from, to, bins].join(" "),
    (signal) => events.busy(span, { from, to, bins }, signal),
    true,
    rest_ms,
  );

/** The figures of the measured range; null while they are not known. */
export function useMeasured(events: ViewSource, span: string, range: TimeRange): BusyBins | null {
  const [from, to] = [Math.floor(range.from), Math.max(Math.floor(range.from) + 1, Math.ceil(range.to))];
  const { page: busy } = useBusy(events, span, { from, to }, 1, REST_MS);
  return busy?.start_ns === from && busy.end_ns === to ? busy : null;
}

interface Bin extends TimeRange {
  /** Busy share of the bin's length, over all devices: 0 to 1. */
  share: number;
}

export function binsOf({ start_ns, end_ns, devices, busy_ns }: BusyBins): Bin[] {
  const edge = (at: number) => start_ns + Math.floor((at * (end_ns - start_ns)) / busy_ns.length);
  return busy_ns.map((busy, at) => {
    const [from, to] = [edge(at), edge(at + 1)];
    return { from, to, share: busy / (devices * (to - from)) };
  });
}
