/** The order of a table in words: "-total" is by the column total, the largest first. */

import { useRef } from "preact/hooks";

/** Which way a table is sorted by a column, if it is. */
export const directionOf = (sort: string | undefined, id: string) =>
  sort === id ? "ascending" : sort === `-${id}` ? "descending" : undefined;

interface SortedProps {
  columns: readonly { id: string; label: string }[];
  sort: string | undefined;
}

/** Says aloud by what the rows are sorted, once that changes. */
export function Sorted({ columns, sort }: SortedProps) {
  const first = useRef(sort);
  const column = columns.find(({ id }) => directionOf(sort, id) !== undefined);
  const said = column && sort !== first.current ? `Sorted by ${column.label}, ${directionOf(sort, column.id)}.` : "";
  if (said !== "") first.current = undefined;
  return (
    <p class="visually-hidden" role="status">
      {said}
    </p>
  );
}
