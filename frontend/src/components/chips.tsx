import type { ComponentChildren } from "preact";

interface Chip {
  id: string;
  label: string;
  meaning?: string;
}

export interface ChipsProps {
  /** Names the choice for a screen reader. */
  label: string;
  /** Names the choice visibly. */
  name?: string;
  chosen: string;
  options: readonly Chip[];
  choose(id: string): void;
  children?: ComponentChildren;
}

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
