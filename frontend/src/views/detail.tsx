/** Details of one kernel or op: a panel, how long its calls take, and when they run in the span. */

import { sum } from "d3-array";
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import type { OperatorDetail } from "../api.gen";
import { Calls, Histogram } from "../charts/bars/counts";
import { CopyButton } from "../components/copy";
import { Picture } from "../components/picture";
import { useFocusBack } from "../dom/hooks";
import { counted, ns, scaleFor } from "../format";
import { capital } from "../words";

interface DetailPanelProps {
  /** "The chosen kernel" */
  label: string;
  name: string;
  title: ComponentChildren;
  class: string;
  leads: ComponentChildren;
  close(): void;
  children: ComponentChildren;
}

/** Scrolls into view when it opens; Esc closes it, and the focus returns. */
export function DetailPanel({ label, name, title, class: className, leads, close, children }: DetailPanelProps) {
  const root = useRef<HTMLElement>(null);
  useFocusBack(root);
  useEffect(() => root.current?.scrollIntoView({ block: "nearest" }), []);
  return (
    <section
      class={className}
      ref={root}
      aria-label={label}
      data-name={name}
      onKeyDown={(event) => event.key === "Escape" && close()}
    >
      <div class="head">
        {title}
        <CopyButton text={() => name} class="button low">
          Copy name
        </CopyButton>
        {leads}
        <button class="button low" onClick={close}>
          Close
        </button>
      </div>
      {children}
    </section>
  );
}

interface Counted {
  /** "launch", and in the plural "launches". */
  one: string;
  many: string;
  colour: string;
}

interface LengthsProps {
  of: Counted;
  lengths: OperatorDetail["lengths"];
  /** Where they run, written after their number. */
  where?: string;
  name: string;
  height: number;
}

export function LengthsPicture({ of: { one, many, colour }, lengths, where = "", name, height }: LengthsProps) {
  const { edges_ns: edges, count: counts } = lengths;
  const [low, high] = [edges[0]!, edges[edges.length - 1]!];
  const all = counted(sum(counts), one, many);
  const title = `A ${one} takes ${ns(low) === ns(high) ? ns(low) : `${ns(low)} to ${ns(high)}`}`;
  return (
    <Picture
      title={title}
      sub={all + where}
      name={`lengths ${name}`}
      table={() => ({
        columns: [
          { label: "From", unit: "ns" },
          { label: "To", unit: "ns" },
          { label: capital(many), unit: "count" },
        ],
        rows: counts.map((each, bin) => [edges[bin]!, edges[bin + 1]!, each]),
      })}
    >
      <Histogram
        label={`${title}: ${all} by length.`}
        edges={edges}
        counts={counts}
        axis={many}
        colour={colour}
        scale={scaleFor(high, "ns")}
        height={height}
      />
    </Picture>
  );
}

interface CallsProps {
  of: Counted;
  calls: OperatorDetail["calls"];
  span: { start_ns: number; end_ns: number; steps: readonly { name: string; start_ns: number; end_ns: number }[] };
  title: string;
  label: string;
  /** The label in a saved file of the time within a bin. */
  timeLabel: string;
  name: string;
  height: number;
}

export function CallsPicture({ of: { many, colour }, calls, span, title, label, timeLabel, name, height }: CallsProps) {
  const whole = span.end_ns - span.start_ns;
  return (
    <Picture
      title={title}
      sub={`${many} by start`}
      name={`calls ${name}`}
      table={() => ({
        columns: [
          { label: "From", unit: "ns" },
          { label: capital(many), unit: "count" },
          { label: timeLabel, unit: "ns" },
        ],
        rows: calls.count.map((each, bin) => [bin * calls.bin_ns, each, calls.busy_ns[bin]!]),
      })}
    >
      <Calls
        label={label}
        bin={calls.bin_ns}
        counts={calls.count}
        busy={calls.busy_ns}
        steps={span.steps.map((step) => ({
          key: step.name,
          from: step.start_ns - span.start_ns,
          to: step.end_ns - span.start_ns,
        }))}
        whole={whole}
        axis={many}
        colour={colour}
        scale={scaleFor(whole, "ns")}
        height={height}
      />
    </Picture>
  );
}

/** The share of a span in which any of the calls runs. */
export const busyShare = ({ busy_ns }: OperatorDetail["calls"], span: { start_ns: number; end_ns: number }): number =>
  sum(busy_ns) / (span.end_ns - span.start_ns);
