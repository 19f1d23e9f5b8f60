import type { ComponentChildren } from "preact";
import type { Tab } from "./props";

interface MoreProps {
  /** What is in it; false for a section that the page lacks. */
  of: readonly (string | false)[];
  /** The tables in it whose rows cards link to: such a link opens it. */
  tables?: readonly string[];
  tab: Tab;
  children: ComponentChildren;
}

/** Sections that a reader does not need at first sight, folded under one line that names them. */
export function More({ of, tables = [], tab: { state, update }, children }: MoreProps) {
  const open = state.more === "open" || tables.some((table) => state.mark?.startsWith(`${table}:`));
  return (
    <details
      class="fold"
      open={open}
      onToggle={({ currentTarget: { open: now } }) =>
        now !== open && update(now ? { more: "open" } : { more: null, mark: null })
      }
    >
      <summary>More: {of.filter(Boolean).join(", ")}</summary>
      {children}
    </details>
  );
}
