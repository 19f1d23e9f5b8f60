/** A button that copies a text, and code with such a button. */

import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { copy } from "../dom/save";

/** How long a button reports what it did. */
const SHOWN_MS = 2000;

/** What a button reports; null: nothing. `lasting`: a report that stays until the next one. */
export function useReport(lasting?: string): [string | null, (report: string) => void] {
  const [report, setReport] = useState<string | null>(null);
  useEffect(() => {
    if (report === null || report === lasting) return;
    const timer = setTimeout(() => setReport(null), SHOWN_MS);
    return () => clearTimeout(timer);
  }, [report, lasting]);
  return [report, setReport];
}

/** The content of a button, or what it reports in its place. */
export const Reporting = ({ report, children }: { report: string | null; children: ComponentChildren }) => (
  <>
    <span class={report === null ? "" : "hush"}>{children}</span>
    <span class="status" role="status">
      {report}
    </span>
  </>
);

interface CopyButtonProps {
  text: () => string;
  class?: string;
  children: ComponentChildren;
}

/** Copies the text and confirms it for two seconds, without changing the button's place or width. */
export function CopyButton({ text, class: className = "button", children }: CopyButtonProps) {
  const [report, setReport] = useReport();
  const press = async () => setReport((await copy(text())) ? "Copied" : "Not copied");
  return (
    <button class={`${className} says`} onClick={press}>
      <Reporting report={report}>{children}</Reporting>
    </button>
  );
}

/** Code to type, with a button that copies it. */
export function Code({ text }: { text: string }) {
  return (
    <div class="code">
      <pre>{text}</pre>
      <CopyButton text={() => text} class="button low">
        Copy
      </CopyButton>
    </div>
  );
}
