/** What the words of a view mean, in a line each, to be read and not only hovered over. */

import { useContext } from "preact/hooks";
import { Terms } from "./terms";

interface Meant {
  label: string;
  meaning: string;
}

/** The terms that stand in heads of columns and rows of a view, where the first of them stands. */
export function Words({ view }: { view: string }) {
  const terms = useContext(Terms).filter(({ views }) => views.includes(view));
  return terms.length > 0 ? (
    <MeantList of={terms.map(({ words, meaning }) => ({ label: capital(words[0]!), meaning }))} />
  ) : null;
}

/** The definitions of a picture's rows, which fill a page: one press away. */
export function Definitions({ of }: { of: readonly Meant[] }) {
  return (
    <details class="definitions">
      <summary>What the rows mean</summary>
      <MeantList of={of} />
    </details>
  );
}

function MeantList({ of }: { of: readonly Meant[] }) {
  return (
    <dl class="words">
      {of.map(({ label, meaning }) => (
        <div key={label}>
          <dt>{label}</dt>
          <dd>{meaning}</dd>
        </div>
      ))}
    </dl>
  );
}

const capital = (word: string): string => word.charAt(0).toUpperCase() + word.slice(1);
