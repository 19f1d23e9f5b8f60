import { useState } from "preact/hooks";
import type { FindingText } from "../api.gen";
import { Sentence } from "./sentence";

/** More would push the figures out of sight. */
const LINES = 4;

/**
 * What is wrong with the recording, a line each, and last what can be trusted. Nothing, not even space, where nothing
 * is wrong.
 */
export function Quality({ findings }: { findings: readonly FindingText[] }) {
  const [open, setOpen] = useState(false);
  if (findings.length === 0) return null;
  const trust = findings.filter((line) => line.id === "trust");
  const found = findings.filter((line) => line.id !== "trust");
  const shown = open || findings.length <= LINES ? found : found.slice(0, LINES - trust.length);
  const more = found.length - shown.length;
  return (
    <section class="quality" aria-label="Data quality">
      {[...shown, ...trust].map((line) => (
        <p key={line.id}>
          <span class="done">{line.label}</span>
          <span>
            {line.cause.template !== "" && (
              <b>
                <Sentence phrase={line.cause} terms />
              </b>
            )}{" "}
            <Sentence phrase={line.effect} terms />
            {more > 0 && line === shown.at(-1) && (
              <>
                {" "}
                <button class="more" onClick={() => setOpen(true)}>
                  {more} more
                </button>
              </>
            )}
          </span>
        </p>
      ))}
    </section>
  );
}
