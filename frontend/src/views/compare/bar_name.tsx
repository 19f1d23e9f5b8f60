import { hint } from "../../dom/hint";
import { ns } from "../../format";

/** In front of one of two bars: whose it is, and how long. */
export function BarName({ name, mean_ns }: { name: string; mean_ns: number }) {
  return (
    <>
      <span class="clip" {...hint(name)}>
        {name}
      </span>
      <br />
      <b>{ns(mean_ns)}</b>
    </>
  );
}
