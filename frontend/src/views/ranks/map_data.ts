/** One metric of all ranks: requested when it is chosen, and unpacked into a matrix. */

import { useEffect, useMemo, useState } from "preact/hooks";
import type { Problem, RankMap } from "../../api.gen";
import { inRounds, retryPause } from "../../server/watch";
import type { RankSource } from "../props";
import type { Matrix } from "./charts/cells";

export interface UnpackedMap extends Matrix {
  map: RankMap;
}

export interface MapAnswer {
  found: UnpackedMap | null;
  problem: Problem | null;
}

/** span: any one of the job; version: changes with each rank that is read. The previous metric stays meanwhile. */
export function useRankMap(source: RankSource, span: string, metric: string, version: string): MapAnswer {
  const [answered, setAnswered] = useState<{ map: RankMap | null; problem: Problem | null }>(NOTHING);
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new version is asked for, whatever it is
  useEffect(() => {
    let unanswered = 0;
    const rounds = inRounds(async (signal) => {
      const answer = await source.rankMap(span, metric, signal);
      if (signal.aborted) return null;
      unanswered = answer.kind === "gone" ? unanswered + 1 : 0;
      if (answer.kind === "ready") setAnswered({ map: answer.value, problem: null });
      if (answer.kind === "problem") setAnswered({ map: null, problem: answer.value });
      return unanswered > 0 ? retryPause(unanswered) : null;
    });
    return rounds.stop;
  }, [source, span, metric, version]);
  const { map, problem } = answered;
  return { found: useMemo(() => map && matrixOf(map), [map]), problem };
}

const NOTHING = { map: null, problem: null };

function matrixOf(map: RankMap): UnpackedMap {
  return { map, rows: map.spans.length, columns: map.steps.length, values: unpacked(map.values) };
}

/** Decodes base64 of 32-bit floats, little endian; the first float is not one of the values. */
function unpacked(letters: string): Float64Array {
  const text = atob(letters);
  const bytes = new Uint8Array(text.length);
  for (let at = 0; at < text.length; at++) bytes[at] = text.charCodeAt(at);
  return Float64Array.from(new Float32Array(bytes.buffer, 4)); // browsers run on little-endian machines
}
