import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { copy } from "../clipboard";

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
