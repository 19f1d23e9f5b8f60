import type { BatchCopy, Phrase } from "../../api.gen";
import { SplitBar } from "../../charts/bars/split_bar";
import { Swatch } from "../../colour";
import { Picture } from "../../components/picture";
import { hint } from "../../dom/hint";
import { bytes, rate, scaleFor, text } from "../../format";
import { closed, sentence } from "../../phrase";
import type { Tab } from "../props";

/** The batch on its way to the GPU: from which memory, how fast, and whether kernels run meanwhile. */
export function BatchCopyPicture({
  copy,
  title,
  tab,
  name,
}: {
  copy: BatchCopy;
  title: Phrase | null;
  tab: Tab;
  name: string;
}) {
  const { total_ns: total, hidden_ns: hidden, alone_ns: alone, blocked_ns: blocked } = copy;
  const scale = scaleFor(Math.max(total, blocked), "ns");
  const parts = [
    {
      id: "alone",
      colour: "copy",
      hatched: false,
      share: total ? alone / total : 0,
      title: `Alone ${scale.text(alone)}`,
    },
    {
      id: "hidden",
      colour: "copy",
      hatched: true,
      share: total ? hidden / total : 0,
      title: `Overlapping kernels ${scale.text(hidden)}`,
    },
  ];
  const heading = title ?? QUESTION;
  return (
    <Picture
      title={heading}
      name={`batch copies ${name}`}
      drawn={false}
      table={() => copyTable(copy)}
      link={() => tab.address()}
    >
      <SplitBar
        label={
          `${closed(sentence(heading))} Copies of batches take ${scale.text(total)} a step: ` +
          `${parts.map((part) => part.title).join("; ")}.`
        }
        parts={parts}
        off={NONE}
      />
      <p class="small keys">
        <span class="key">
          <Swatch colour="copy" />
          alone <b>{scale.text(alone)}</b>
        </span>
        <span class="key">
          <Swatch colour="copy" hatched />
          overlapping kernels <b>{scale.text(hidden)}</b>
        </span>
        <span class="key" {...hint("Time in which the call of the copy blocks the host.")}>
          host blocked <b>{scale.text(blocked)}</b>
        </span>
      </p>
      <p class="quiet small aside">{aboutOf(copy)}.</p>
    </Picture>
  );
}

const QUESTION: Phrase = { template: "How does the batch reach the GPU?", values: {} };
const NONE: ReadonlySet<string> = new Set();

function aboutOf({ count, bytes: size, bytes_per_second: speed, pageable }: BatchCopy): string {
  const memory = pageable === null ? null : pageable ? "from pageable memory" : "from pinned memory";
  const moved = size === null ? null : `${bytes(size)}${speed === null ? "" : ` at ${rate(speed)}`}`;
  return [`${text(count, "number")} a step`, moved, memory].filter(Boolean).join(", ");
}

function copyTable({
  count,
  bytes: size,
  bytes_per_second: speed,
  pageable,
  alone_ns: alone,
  hidden_ns: hidden,
  blocked_ns: blocked,
}: BatchCopy) {
  const times = ["Alone", "Overlapping kernels", "Host blocked"].map((label) => ({ label, unit: "ns" as const }));
  return {
    columns: [
      { label: "Copies a step", unit: "number" as const },
      { label: "Bytes", unit: "bytes" as const },
      { label: "Rate", unit: "bytes_per_second" as const },
      { label: "Memory" },
      ...times,
    ],
    rows: [[count, size, speed, pageable === null ? null : pageable ? "pageable" : "pinned", alone, hidden, blocked]],
  };
}
