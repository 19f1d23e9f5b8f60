/** What the server sent along with the script: the answer to the request that most visits begin with. */

import type { Opening } from "../api.gen";
import type { Client, Opener } from "./client";

declare global {
  /** JSON of an Opening; absent where the server had none at hand. Written by `serve/http/bundle.py`. */
  var stepInsightsOpening: string | undefined;
}

/** The client, whose opening is the one that came along if nothing but the overview is asked of it. */
export function broughtAlong<C extends Client & Opener>(client: C): C {
  const brought = globalThis.stepInsightsOpening;
  globalThis.stepInsightsOpening = undefined; // once: what is asked for later is asked of the server
  if (brought === undefined) return client;
  const opening = JSON.parse(brought) as Opening;
  return {
    ...client,
    opening: async (asked: Record<string, string>) =>
      isPlain(asked) ? { kind: "ready", value: opening } : client.opening(asked),
  };
}

const isPlain = (asked: Record<string, string>): boolean =>
  asked.view === "overview" && Object.keys(asked).length === 1;
