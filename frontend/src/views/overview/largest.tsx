/** The largest pieces of the step: kernels of a GPU, or ops of a CPU. Each links to its row. */

import type { Largest, Piece } from "../../api.gen";
import { InlineBar } from "../../charts/bars/split_bar";
import { Details } from "../../components/details";
import { Sentence } from "../../components/sentence";
import { percent, type Scale } from "../../format";
import { scaleOf } from "../../scale";
import { markOf, readingOf } from "../choices";
import type { Tab } from "../props";

export function LargestPieces({ found, tab }: { found: Largest; tab: Tab }) {
  const lengths = found.pieces.map((piece) => piece.ns);
  const scale = scaleOf(lengths, "ns", readingOf(tab).unit);
  return (
    <section class="largest">
      <div class="head">
        <h2>
          <Sentence phrase={found.title} />
        </h2>
      </div>
      <p class="quiet small">
        <Sentence phrase={found.throughput} />
        <Details text={found.threads} />
      </p>
      <table>
        <thead>
          <tr>
            <th />
            <th />
            <th class="num">a step</th>
            <th class="num">
              <Sentence phrase={found.shares_of} />
            </th>
          </tr>
        </thead>
        <tbody>
          {found.pieces.map((piece) => (
            <PieceRow key={piece.row.key} {...{ piece, scale, tab }} of={found.pieces[0]!.share} />
          ))}
        </tbody>
      </table>
    </section>
  );
}

interface PieceProps {
  piece: Piece;
  of: number;
  scale: Scale;
  tab: Tab;
}

function PieceRow({ piece, of, scale, tab }: PieceProps) {
  const open = () => tab.update({ view: piece.view, mark: markOf(piece.row) });
  const colour = piece.view === "host" ? "cpu" : "kernel";
  return (
    <tr>
      <td class="clip">
        <button class="link" data-hint={piece.row.key} onClick={open}>
          {piece.name}
        </button>
      </td>
      <td>
        <InlineBar segments={[{ share: of ? piece.share / of : 0, colour }]} />
      </td>
      <td class="num">{scale.text(piece.ns)}</td>
      <td class="num">{percent(piece.share)}</td>
    </tr>
  );
}
