import { useState } from "preact/hooks";
import type { Evidence, FindingText } from "../api.gen";
import { Sentence } from "./sentence";

/** More would push the figures out of sight. */
const LINES = 4;

interface QualityProps {
  findings: readonly FindingText[];
  /** Opens the timeline where a finding is seen. */
  show: (range: Evidence) => void;
}

/**
 * What is wrong with the recording, a line each, and last what can be trusted. Nothing, not even space, where nothing
 * is wrong.
 */
export function Quality({ findings, show }: QualityProps) {
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
          {line.evidence[0] && (
            <button class="link" onClick={() => line.evidence[0] && show(line.evidence[0])}>
              {line.evidence.length > 1 ? "Longest in Timeline" : "In Timeline"}
            </button>
          )}
        </p>
      ))}
    </section>
  );
}
