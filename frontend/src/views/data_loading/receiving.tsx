import type { Overhead } from "../../api.gen";
import { Sentence } from "../../components/sentence";
import { ns } from "../../format";

/** From what the loader's own share is known; a name that is not here is left out. */
const TOLD: Readonly<Record<string, string>> = {
  recorder: "as recorded",
  stacks: "from the call stacks",
  ready: "from waits for batches that lay ready",
  steady: "all waits are alike",
};

/** What the training process itself does for a batch that a worker made. */
export function Receiving({ overhead }: { overhead: Overhead }) {
  const { ns: own, exposed_ns: exposed, told_by: by, unpickle_ns: unpickle, pin_ns: pin, why } = overhead;
  if (own === null)
    return (
      why && (
        <p class="quiet small aside">
          <Sentence phrase={why} />
        </p>
      )
    );
  const parts = [
    ...(unpickle === null ? [] : [`unpickling takes ${ns(unpickle)}`]),
    ...(pin === null ? [] : [`the thread that pins takes ${ns(pin)}`]),
  ];
  return (
    <p class="quiet small aside">
      The training process itself spends <b>{ns(own)}</b> a batch on receiving it, at best
      {exposed !== null && <>; in a step, {ns(exposed)} of it exposed</>}
      {parts.length > 0 && ` (on average, ${parts.join(", ")})`}
      {by !== null && by in TOLD && `: ${TOLD[by]}`}.
    </p>
  );
}
