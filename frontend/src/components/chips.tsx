import type { ComponentChildren } from "preact";

interface Chip {
  id: string;
  label: string;
  meaning?: string;
}

export interface ChipsProps {
  /** What is chosen, for a screen reader. */
  label: string;
  /** The same, to be seen. */
  name?: string;
  chosen: string;
  options: readonly Chip[];
  choose(id: string): void;
  children?: ComponentChildren;
}

/** A choice of a few, all visible. */
export function Chips({ label, name, chosen, options, choose, children }: ChipsProps) {
  return (
    <div class="chips" role="group" aria-label={label}>
      {name && <span class="k">{name}</span>}
      {options.map((option) => (
        <button
          key={option.id}
          aria-pressed={option.id === chosen}
          data-hint={option.meaning}
          onClick={() => choose(option.id)}
        >
          {option.label}
        </button>
      ))}
      {children}
    </div>
  );
}
