/** Under a table: what only the other span has. */

import { scaleFor, shortened } from "../../format";
import type { Names } from "../props";

/** A row of the other span that the chosen one lacks. */
export interface Lacking {
  name: string;
  /** Of a step. */
  ns: number;
}

interface OnlyThereProps extends Names {
  rows: readonly Lacking[];
  /** The table has all rows of the chosen span: what it lacks, the span lacks. */
  whole: boolean;
  per: string;
}

/** Named one by one, those with most time. */
const MOST = 4;
const NAME_LENGTH = 48;

export function OnlyThere({ rows, whole, name, own, per }: OnlyThereProps) {
  const some = [...rows].filter(({ ns }) => ns > 0).sort((a, b) => b.ns - a.ns);
  if (some.length === 0) return null;
  const scale = scaleFor(some[0]!.ns, "ns");
  const more = some.slice(MOST);
  const said = some.slice(0, MOST).map((row) => `${shortened(row.name, NAME_LENGTH)} (${scale.text(row.ns)})`);
  const rest = more.reduce((sum, row) => sum + row.ns, 0);
  if (more.length > 0) said.push(`${more.length} more (${scale.text(rest)})`);
  return (
    <p class="quiet small aside only-there">
      {whole ? `Only ${name} has` : `Not among these rows of ${own}, but in ${name}`}, {per}: {said.join(", ")}.
    </p>
  );
}
