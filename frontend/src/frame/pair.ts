/** The requests of Compare: two runs compared with each other, and the experiments to choose them from. */

import { useRef } from "preact/hooks";
import { comparedWith, type Selection, spanVersion } from "../address/selection";
import type { ChainPage, ComparePage } from "../api.gen";
import type { Answer } from "../server/client";
import { type Requested, type Source, useAnswer } from "../server/use_answer";
import { chainRuns } from "../views/compare/chain_runs";
import type { Tab } from "../views/props";

export interface PairRequests {
  other: Selection | null;
  request: Requested<ComparePage>;
  chain: Requested<ChainPage>;
  /** The one of the two that the answer waits for. */
  waits: Selection;
}

export function usePair(on: boolean, chosen: Selection, tab: Tab, { client, cache }: Source): PairRequests {
  const { index } = tab;
  const other = on ? comparedWith(index, tab.state, chosen) : null;
  const both = other ? [chosen, other] : [chosen];
  const problem = both.find(({ span }) => span.state === "failed" && span.error !== null)?.span.error ?? null;
  const ids = other && problem === null ? ([other.span.id, chosen.span.id] as const) : null;
  const request = useAnswer(cache, ids && `compare ${ids.join(" ")}`, both.map(spanVersion).join(), (signal) =>
    client.compare(...ids!, signal),
  );
  const below = useRef(false); // the comparison is requested first, then what is below it, which stays from then on
  below.current ||= on && (ids === null || request.answer !== null || request.trouble !== null);
  const { runs } = chainRuns(tab);
  const order = tab.state.order ?? [];
  const chain = useAnswer(
    cache,
    on && below.current ? ["chain", ...runs].join("\n") : null,
    [index.spans_ready, index.spans_total, ...order].join("\n"), // the shown one stays until the answer arrives
    (signal) => client.chain(runs, order, signal),
  );
  const failed: Answer<ComparePage> | null = other && problem && { kind: "problem", value: problem };
  return {
    other,
    request: failed ? { ...request, answer: failed, trouble: null } : request,
    chain,
    waits: both.find(({ span }) => span.state !== "ready") ?? chosen,
  };
}
