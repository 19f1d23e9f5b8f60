/** What is passed on: the address of what is shown, its summary as text, all of it as one page. */

import { useEffect, useState } from "preact/hooks";
import { Menu } from "../components/popup";
import { copy, saveBlob } from "../dom/save";

export interface ShareProps {
  link(): string;
  /** Of the chosen span; null: it is not known. */
  summary(): Promise<string | null>;
  /** The page; null: it did not come. Absent: this is one. */
  report: (() => Promise<Blob | null>) | undefined;
}

/** How long the button says what it did. */
const SHOWN_MS = 2_000;

const WITHOUT_EVENTS = "One page with all views, and no single events. With these: tb-steptime report --timeline";

const SAVING = "Saving…";

export function Share({ link, summary, report }: ShareProps) {
  const [status, setStatus] = useState<string | null>(null);
  useEffect(() => {
    if (status === null || status === SAVING) return;
    const timer = setTimeout(() => setStatus(null), SHOWN_MS);
    return () => clearTimeout(timer);
  }, [status]);
  const copied = async (text: string | null) =>
    setStatus(text !== null && (await copy(text)) ? "Copied" : "Not copied");
  const saved = async (page: Promise<Blob | null>) => {
    setStatus(SAVING);
    const blob = await page;
    if (blob) saveBlob("report.html", blob);
    setStatus(blob ? "Saved" : "Not saved");
  };
  const entries = [
    { label: "Copy link", choose: () => void copied(link()) },
    { label: "Copy summary as Markdown", choose: async () => copied(await summary()) },
    ...(report ? [{ label: "Save as report", hint: WITHOUT_EVENTS, choose: () => void saved(report()) }] : []),
  ];
  return (
    <Menu label="Share: link, summary, report" entries={entries}>
      <span class={status === null ? "" : "hush"}>Share</span>
      <span class="status" role="status">
        {status}
      </span>
    </Menu>
  );
}
