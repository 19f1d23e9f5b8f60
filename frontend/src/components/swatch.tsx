import { fillClass } from "../colour";

/** A small square in the colour of its meaning. */
export function Swatch({ colour, hatched = false }: { colour: string; hatched?: boolean }) {
  return <i class={`swatch ${fillClass(colour, hatched)}`} />;
}
