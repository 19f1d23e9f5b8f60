/** A button that copies a text, and code with such a button. */

import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { copy } from "../dom/save";

/** How long the button confirms the copy. */
const SHOWN_MS = 2000;

interface CopyButtonProps {
  text: () => string;
  class?: string;
  children: ComponentChildren;
}

/** Copies the text and confirms it for two seconds, without changing the button's place or width. */
export function CopyButton({ text, class: className = "button", children }: CopyButtonProps) {
  const [status, setStatus] = useState<string | null>(null);
  useEffect(() => {
    if (status === null) return;
    const timer = setTimeout(() => setStatus(null), SHOWN_MS);
    return () => clearTimeout(timer);
  }, [status]);
  const press = async () => setStatus((await copy(text())) ? "Copied" : "Not copied");
  return (
    <button class={`${className} says`} onClick={press}>
      <span class={status === null ? "" : "hush"}>{children}</span>
      <span class="status" role="status">
        {status}
      </span>
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
