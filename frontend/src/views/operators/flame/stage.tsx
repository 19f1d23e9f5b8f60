/** The flame graph with the call tree beside it; below them the path to the zoomed frame, and the kinds of frames. */

import { useEffect, useMemo, useState } from "preact/hooks";
import type { FlamePage } from "../../../api.gen";
import { lineName } from "../../../code_line";
import { Swatch } from "../../../colour";
import { Keys } from "../../../components/keys";
import { NotYet } from "../../../components/waiting";
import { CallTree } from "./call_tree";
import { aTask } from "./data";
import { Graph } from "./graph";
import { type Layout, layoutOf } from "./layout";
import { COLOUR_OF } from "./paint";
import { mixed } from "./shapes";
import { type Hits, type Kind, pathTo, type Tree } from "./tree";

interface StageProps {
  tree: Tree;
  /** The tree including the hidden kinds. */
  whole: Tree;
  hidden: ReadonlySet<Kind>;
  hide(kinds: ReadonlySet<string>): void;
  hits: Hits | null;
  text(value: number): string;
  label: string;
  /** The frame that the address names. */
  frame: string | undefined;
  /** The chosen line of code. */
  line?: string | undefined;
  /** line: the line of the user's code to which the frame belongs. */
  zoomTo(frame: string | null, line: string | null): void;
}

/** The hint of its picture. smallest: frames below this share of the whole are merged. */
export const howToRead = ({ smallest }: Pick<FlamePage, "smallest">): string =>
  `Press a frame to zoom. Frames below 1/${smallest} of the whole are merged.`;

/** The height of its place while there is no graph. */
export const EMPTY_PX = 38;

export function Stage({ tree, whole, hidden, hide, hits, text, label, frame, line, zoomTo }: StageProps) {
  const laid = useLaid(tree);
  const zoomed = useMemo(() => (laid ? frameNamed(laid.marks, laid.tree, frame) : 0), [laid, frame]);
  const kinds = useMemo(() => shownKinds(whole), [whole]);
  if (laid === null) return <NotYet problem={null} reads="" height_px={EMPTY_PX} />;
  const zoom = (at: number) => zoomTo(frameName(laid.marks, at), lineOf(laid.tree, at));
  return (
    <>
      <div class="flame-pair">
        <Graph
          label={label}
          tree={laid.tree}
          layout={laid.layout}
          zoomed={zoomed}
          zoom={zoom}
          hits={hits}
          text={text}
        />
        <CallTree tree={laid.tree} zoomed={zoomed} zoom={zoom} text={text} line={line} />
      </div>
      <div class="flame-foot">
        {zoomed > 0 ? (
          <Crumbs tree={laid.tree} zoomed={zoomed} zoom={zoom} />
        ) : (
          <span class="quiet small">
            {hidden.size > 0 && "What hidden frames cost counts for their callers; the sums stay."}
          </span>
        )}
        <Keys
          label="Kinds of frames"
          keys={kinds.map(({ id, name, meaning }) => ({
            id,
            label: name,
            meaning,
            mark: <Swatch colour={COLOUR_OF[id]!} />,
          }))}
          off={hidden}
          choose={hide}
        />
      </div>
    </>
  );
}

const lineOf = ({ names, kinds, label }: Tree, at: number): string | null =>
  kinds[label[at]!] === "python" ? names[label[at]!]! : null;

interface Laid {
  tree: Tree;
  layout: Layout;
  marks: Int32Array;
}

const laidOut = (tree: Tree): Laid => ({ tree, layout: layoutOf(tree), marks: marksOf(tree) });

/**
 * Larger trees are laid out after the previous view has reacted to the click, each part in a task of its own, so that
 * keys and pointer are handled in between.
 */
const MANY = 20_000;

function useLaid(tree: Tree): Laid | null {
  const [later, setLater] = useState<Laid | null>(null);
  const now = useMemo(() => (tree.parent.length > MANY ? null : laidOut(tree)), [tree]);
  useEffect(() => {
    if (now) return;
    let isCurrent = true;
    const inParts = async () => {
      await aTask();
      const layout = isCurrent && layoutOf(tree);
      await aTask();
      const marks = isCurrent && marksOf(tree);
      await aTask();
      if (layout && marks && isCurrent) setLater({ tree, layout, marks });
    };
    inParts();
    return () => {
      isCurrent = false;
    };
  }, [tree, now]);
  return now ?? later;
}

const LEGEND: readonly { id: Kind; name: string; meaning: string }[] = [
  { id: "python", name: "Python", meaning: "Lines of your code and of packages, without those of torch." },
  { id: "module", name: "module", meaning: "Calls of torch.nn modules." },
  { id: "op", name: "op", meaning: "Ops of torch, and your own ranges." },
  { id: "runtime", name: "runtime call", meaning: "Calls of the driver: launches, copies, waits." },
  { id: "kernel", name: "kernel", meaning: "Kernels on the GPU, but those of communication." },
  { id: "collective", name: "communication", meaning: "Kernels that exchange data between GPUs." },
  { id: "copy", name: "copy", meaning: "Copies and memory sets." },
];

/** The kinds that have any cost in the measure. */
function shownKinds({ kinds, label, value }: Tree) {
  const used = new Set<Kind>();
  for (let at = 0; at < label.length; at++) if (value[at]! > 0) used.add(kinds[label[at]!]!);
  return LEGEND.filter(({ id }) => used.has(id));
}

/** The kinds in the address, which is a new set each time that it is read. */
export function useKinds(hidden: ReadonlySet<string> | undefined): ReadonlySet<Kind> {
  const written = [...(hidden ?? [])].join();
  return useMemo(() => {
    const names = written.split(",");
    return new Set(LEGEND.map(({ id }) => id).filter((id) => names.includes(id)));
  }, [written]);
}

/** The path to the zoomed frame; the middle of a long path is left out. */
function Crumbs({ tree, zoomed, zoom }: { tree: Tree; zoomed: number; zoom(at: number): void }) {
  const path = pathTo(tree, zoomed);
  const shown = path.length > MOST_CRUMBS ? [path[0]!, ...path.slice(1 - MOST_CRUMBS)] : path;
  return (
    <nav class="flame-crumbs small" aria-label="Zoomed into">
      {shown.map((at, place) => (
        <span key={at}>
          {place > 0 && (place === 1 && shown.length < path.length ? " › … › " : " › ")}
          {at === zoomed ? (
            <b>{lineName(tree.names[tree.label[at]!]!)}</b>
          ) : (
            <button class="link" onClick={() => zoom(at)}>
              {lineName(tree.names[tree.label[at]!]!)}
            </button>
          )}
        </span>
      ))}
    </nav>
  );
}

const MOST_CRUMBS = 5;

/**
 * A hash for each frame; two frames of one tree have the same one by chance, in about one of some thousand trees with
 * many frames.
 */
export function marksOf({ names, parent, label }: Tree): Int32Array {
  const texts = Int32Array.from(names, textMark);
  const marks = new Int32Array(parent.length);
  for (let at = 1; at < marks.length; at++) marks[at] = mixed(marks[parent[at]!]!, texts[label[at]!]!);
  return marks;
}

function textMark(text: string): number {
  let mark = 0x811c9dc5;
  for (let at = 0; at < text.length; at++) mark = Math.imul(mark ^ text.charCodeAt(at), 0x01000193);
  return mark;
}

/** The frame as the address writes it; the root has no name. */
export const frameName = (marks: Int32Array, at: number): string | null =>
  at > 0 ? (marks[at]! >>> 0).toString(36) : null;

/** The drawn frame with that name; the root where there is none. */
export function frameNamed(marks: Int32Array, { value }: Tree, name: string | undefined): number {
  if (name === undefined) return 0;
  const sought = Number.parseInt(name, 36) | 0;
  for (let at = 1; at < marks.length; at++) if (marks[at] === sought && value[at]! > 0) return at;
  return 0;
}
