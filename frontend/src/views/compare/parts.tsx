/** Where the difference between two mean steps comes from: each part in both, and what it adds or saves. */

import type { OverviewResult, Parts } from "../../api.gen";
import { Swatch } from "../../colour";
import type { Column } from "../../components/table";
import { type Scale, scaleFor, share, shortened } from "../../format";
import type { Compared, Names, Tab } from "../props";
import { TablePicture } from "../table_picture";
import { differenceOf, differenceTitle, type PartPair, pairsOf, signed } from "./difference";

interface PartDifferencesProps extends Names {
  parts: readonly PartPair[];
  /** The mean steps, to which the parts add up. */
  own_ns: number;
  other_ns: number;
  /** The beginning of the names of saved files. */
  file: string;
  tab: Tab;
}

/** The most characters of a name above a column of figures. */
const HEAD_LENGTH = 14;

export function PartDifferences({ parts, own_ns, other_ns, name, own, file, tab }: PartDifferencesProps) {
  const scale = scaleFor(Math.max(own_ns, other_ns), "ns");
  const all = { own_ns, other_ns };
  return (
    <TablePicture
      title={differenceTitle({ name, own }, own_ns, other_ns, share)}
      sub="the mean steps, by part"
      name={`${own} against ${name} ${file}`}
      label={`Parts of the mean step of ${own} against ${name}`}
      columns={columnsOf(parts, { name, own }, other_ns, scale)}
      rows={parts}
      saved={() => [...parts, { id: "step", label: "Step", colour: "ink", hatched: false, ...all }]}
      rowKey={(row) => row.id}
      order="parts"
      tab={tab}
      foot={{
        name: "Step",
        cells: {
          other_ns: scale.text(other_ns),
          own_ns: scale.text(own_ns),
          difference: <span class="ink">{signed(differenceOf(all), scale)}</span>,
          share: points(differenceOf(all), other_ns),
        },
      }}
    />
  );
}

/** The difference as a share of the other span's step. */
const points = (difference_ns: number, whole_ns: number): string =>
  whole_ns === 0 ? "" : signed(difference_ns / whole_ns, SHARES);

const SHARES = scaleFor(1, "fraction");

function columnsOf(
  parts: readonly PartPair[],
  { name, own }: Names,
  other_ns: number,
  scale: Scale,
): Column<PartPair>[] {
  const most = Math.max(1, ...parts.map((part) => Math.abs(differenceOf(part))));
  const figure = (id: "own_ns" | "other_ns", of: string): Column<PartPair> => ({
    id,
    label: shortened(of, HEAD_LENGTH),
    meaning: `The mean step of ${of}.`,
    width: "112px",
    numeric: true,
    order: (row) => row[id],
    cell: (row) => scale.text(row[id]),
    file: [{ label: of, unit: "ns", of: (row) => row[id] }],
  });
  return [
    {
      id: "part",
      label: "Part",
      width: "176px",
      order: (row) => row.label,
      cell: (row) => (
        <span class="grew">
          <Swatch colour={row.colour} hatched={row.hatched} />
          {row.label}
        </span>
      ),
    },
    figure("other_ns", name),
    figure("own_ns", own),
    {
      id: "difference",
      label: "Difference",
      meaning: `What ${own} takes more than ${name}.`,
      width: "88px",
      numeric: true,
      order: differenceOf,
      cell: (row) => <span class="ink">{signed(differenceOf(row), scale)}</span>,
      file: [{ label: "Difference", unit: "ns", of: differenceOf }],
    },
    {
      id: "share",
      label: "Of the step",
      meaning: `The difference as a share of ${name}'s mean step.`,
      width: "76px",
      numeric: true,
      order: differenceOf,
      cell: (row) => points(differenceOf(row), other_ns),
      file: [
        {
          label: `Share of ${name}'s step`,
          unit: "fraction",
          of: (row) => (other_ns ? differenceOf(row) / other_ns : null),
        },
      ],
    },
    {
      id: "bar",
      label: "",
      cell: (row) => <Diverging part={row} share={differenceOf(row) / most} />,
    },
  ];
}

/** A bar to the left of the middle for less time, to the right for more. */
function Diverging({ part, share: length }: { part: PartPair; share: number }) {
  const width = `${50 * Math.abs(length)}%`;
  return (
    <span class={`diverging of-${part.colour}`} aria-hidden="true">
      <i style={length < 0 ? { right: "50%", width } : { left: "50%", width }} />
    </span>
  );
}

interface MeanStepDifferencesProps {
  result: OverviewResult;
  compared: Compared<"overview">;
  file: string;
  tab: Tab;
}

export function MeanStepDifferences({ result, compared: { page, ...names }, file, tab }: MeanStepDifferencesProps) {
  const partsOf = ({ mean_parts_ns: mean }: OverviewResult) =>
    tab.meanings.parts.map(({ id, label, colour, hatched }) => ({
      ...{ id, label, colour, hatched },
      ns: mean[id as keyof Parts],
    }));
  return (
    <PartDifferences
      {...names}
      parts={pairsOf(partsOf(result), partsOf(page.result))}
      own_ns={result.mean_duration_ns}
      other_ns={page.result.mean_duration_ns}
      file={file}
      tab={tab}
    />
  );
}
