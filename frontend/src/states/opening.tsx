import { Busy, Late } from "../components/late";

/** A server that takes longer than this is told to be slow, long before it is given up. */
const SLOW_MS = 5_000;

interface OpeningProps {
  /** "Opening Host of rank 3". */
  title: string;
  /** What is read for it, a sentence. */
  reads: string;
}

/** An answer is on its way, and how far it is cannot be known. */
export function Opening({ title, reads }: OpeningProps) {
  return (
    <>
      <h1 class="title">{title}</h1>
      <Busy label={title} />
      <p class="quiet" role="status">
        {reads}{" "}
        <Late after_ms={SLOW_MS}>
          TensorBoard takes long: it may be busy with large traces, or with another plugin.
        </Late>
      </p>
    </>
  );
}
