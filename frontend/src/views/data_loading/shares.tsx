import type { DataLoadingResult } from "../../api.gen";
import { counted, ns } from "../../format";

/** What the exposed wait of a step is for, where it is for more than one thing: the pieces that the cards' gains are of. */
export function Shares({ result: { shares, mean, starts, multiprocess } }: { result: DataLoadingResult }) {
  if (!shares || !mean) return null;
  const parts = [
    { label: multiprocess === false ? "making batches" : "late batches", ns: shares.late_ns },
    {
      label: starts ? counted(starts.batches, "epoch that begins", "epochs that begin") : "epochs that begin",
      ns: shares.first_ns,
    },
    { label: "rare long waits", ns: shares.jitter_ns },
    { label: "receiving batches", ns: shares.overhead_ns },
    { label: "other loaders", ns: shares.elsewhere_ns },
  ].filter((part) => part.ns > 0);
  if (parts.length < 2) return null;
  return (
    <p class="quiet small aside">
      Exposed in the mean step:{" "}
      {parts.map((part, at) => (
        <>
          {at > 0 && (at === parts.length - 1 ? " and " : ", ")}
          <b>{ns(part.ns)}</b> for {part.label}
        </>
      ))}
      .
      {starts !== null &&
        starts.making_ns > 0 &&
        ` New iterators take another ${ns(starts.making_ns)} before they are asked for a batch.`}
    </p>
  );
}
