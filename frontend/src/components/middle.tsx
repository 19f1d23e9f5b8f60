/**
 * A name that loses its middle where there is no room for all of it: op names that begin alike differ at their ends.
 */

/** The length from which a name is split in two, and the length of the second part, which always shows. */
const LONG = 24;
const TAIL = 10;

export function Middle({ name }: { name: string }) {
  if (name.length < LONG)
    return (
      <span class="clip" data-hint={name}>
        {name}
      </span>
    );
  return (
    <span class="middle" data-hint={name}>
      <span class="clip">{name.slice(0, -TAIL)}</span>
      <span>{name.slice(-TAIL)}</span>
    </span>
  );
}
