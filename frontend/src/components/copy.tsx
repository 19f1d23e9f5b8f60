/** Something to copy: a button that does, and code with such a button. */

import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { copy } from "../dom/save";

/** How long the button says that it did. */
const SAID_MS = 2000;

interface CopyButtonProps {
  text: () => string;
  class?: string;
  children: ComponentChildren;
}

/** Copies, and says so for two seconds in its own place and width. */
export function CopyButton({ text, class: looks = "button", children }: CopyButtonProps) {
  const [said, setSaid] = useState<string | null>(null);
  useEffect(() => {
    if (said === null) return;
    const timer = setTimeout(() => setSaid(null), SAID_MS);
    return () => clearTimeout(timer);
  }, [said]);
  const press = async () => setSaid((await copy(text())) ? "Copied" : "Not copied");
  return (
    <button class={`${looks} says`} onClick={press}>
      <span class={said === null ? "" : "hush"}>{children}</span>
      <span class="said" role="status">
        {said}
      </span>
    </button>
  );
}

/** Something to type, with a button that copies it. */
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
