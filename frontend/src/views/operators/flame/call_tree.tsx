/**
 * The frames of the flame graph as a tree of rows beside it: the same tree, inverted together with it, with the same
 * selection.
 */

import { useEffect, useId, useMemo, useRef, useState } from "preact/hooks";
import { cached } from "../../../cached";
import { shortName, sourceLine } from "../../../code_line";
import { Swatch } from "../../../colour";
import { toggled } from "../../../components/legend";
import { hint } from "../../../dom/hint";
import { scrollToRow, useRowWindow } from "../../../dom/rows";
import { COLOUR_OF } from "./paint";
import { ownOf, pathTo, type Tree } from "./tree";

interface CallTreeProps {
  tree: Tree;
  /** The frame that the graph is zoomed into; 0: the root. */
  zoomed: number;
  zoom(at: number): void;
  text(value: number): string;
  /** The chosen line of code: its rows are marked. */
  line?: string | undefined;
}

const ROW_PX = 22;

/** A tree initially opens along the most expensive frames, while each is at least this share of the whole. */
const MOST_OF_IT = 0.5;

export function CallTree({ tree, zoomed, zoom, text, line }: CallTreeProps) {
  const box = useRef<HTMLDivElement>(null);
  const id = useId();
  const below = useMemo(() => framesBelow(tree), [tree]);
  const own = useMemo(() => ownOf(tree), [tree]);
  const [turned, turn] = useState<{ tree: Tree; frames: ReadonlySet<number> }>({ tree, frames: NONE });
  const frames = turned.tree === tree ? turned.frames : NONE;
  const rows = useMemo(() => {
    const byItself = new Set([...pathTo(tree, zoomed).slice(0, -1), ...heaviest(tree, below)]);
    return shownRows(below, (at) => byItself.has(at) !== frames.has(at));
  }, [tree, below, zoomed, frames]);
  const [at, setAt] = useState(0);
  const place = Math.min(at, Math.max(0, rows.length - 1));
  const view = useRowWindow(box, rows.length, ROW_PX);
  // biome-ignore lint/correctness/useExhaustiveDependencies: where it stands when it is chosen, not when rows open
  useEffect(() => {
    const found = rows.findIndex((row) => row.at === zoomed);
    if (found < 0) return;
    setAt(found);
    scrollToRow(box.current, found, ROW_PX);
  }, [zoomed, tree]);
  const fold = (row: Row) => turn({ tree, frames: toggled(row.at, frames) });
  const move = (to: number) => {
    setAt(to);
    scrollToRow(box.current, to, ROW_PX);
  };
  const typed = (event: KeyboardEvent) => {
    const row = rows[place];
    if (!row) return;
    if (event.key === "ArrowDown") move(Math.min(rows.length - 1, place + 1));
    else if (event.key === "ArrowUp") move(Math.max(0, place - 1));
    else if (event.key === "ArrowRight" && row.open === false) fold(row);
    else if (event.key === "ArrowLeft" && row.open) fold(row);
    else if (event.key === "Enter") zoom(row.at);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <div>
      <div class="tree-row tree-heads" aria-hidden="true">
        <span />
        <span>Self</span>
        <span>Total</span>
      </div>
      <div
        class="call-tree"
        role="tree"
        aria-label="Call tree"
        tabIndex={0}
        aria-activedescendant={view.first <= place && place < view.end ? `${id}-${place}` : undefined}
        ref={box}
        onKeyDown={typed}
      >
        <div role="presentation" style={{ height: `${view.above_px}px` }} />
        {rows.slice(view.first, view.end).map((row, nth) => (
          <TreeRow
            key={row.at}
            id={`${id}-${view.first + nth}`}
            {...{ row, tree, text }}
            own={own[row.at]!}
            active={view.first + nth === place}
            chosen={row.at === zoomed}
            ofLine={line !== undefined && tree.names[tree.label[row.at]!] === line}
            fold={() => fold(row)}
            choose={() => zoom(row.at)}
          />
        ))}
        <div role="presentation" style={{ height: `${view.below_px}px` }} />
      </div>
    </div>
  );
}

interface TreeRowProps {
  id: string;
  row: Row;
  tree: Tree;
  own: number;
  text(value: number): string;
  active: boolean;
  chosen: boolean;
  ofLine: boolean;
  fold(): void;
  choose(): void;
}

/** A click on the sign opens the row, a click anywhere else chooses it: the graph zooms there. */
function TreeRow(props: TreeRowProps) {
  const { id, row, tree, own, text, active, chosen, ofLine, fold, choose } = props;
  const { at, depth, open } = row;
  const name = tree.names[tree.label[at]!]!;
  return (
    <div
      id={id}
      role="treeitem"
      aria-level={depth + 1}
      aria-expanded={open ?? undefined}
      aria-selected={chosen}
      class={["tree-row", active && "active", ofLine && "of-line"].filter(Boolean).join(" ")}
      onClick={choose}
    >
      <span style={{ paddingLeft: `${INDENT_PX * Math.min(depth, MOST_INDENTS)}px` }}>
        <i
          aria-hidden="true"
          class="sign"
          onClick={(event) => {
            event.stopPropagation();
            fold();
          }}
        >
          {open === null ? "" : open ? "−" : "+"}
        </i>
        <Swatch colour={COLOUR_OF[tree.kinds[tree.label[at]!]!]!} />
        <span class="clip" {...hint(name)} tabIndex={-1}>
          {sourceLine(name) ? shortName(name) : name.replace(ENGINE, "")}
        </span>
      </span>
      <span class="small">{own > 0 ? text(own) : ""}</span>
      <b>{text(tree.value[at]!)}</b>
    </div>
  );
}

/** Names of many rows begin with it: cut at their end, all would read the same. */
const ENGINE = /^autograd::engine::evaluate_function: /;

const INDENT_PX = 12;

/** Deeper rows are not indented any further: their names need the room. */
const MOST_INDENTS = 12;

interface Row {
  at: number;
  depth: number;
  /** Null: there is nothing below it. */
  open: boolean | null;
}

const NONE: ReadonlySet<number> = new Set();

/** For each frame, the frames directly below it that have any cost, most expensive first. */
type Below = ReadonlyMap<number, readonly number[]>;

function framesBelow({ parent, value }: Tree): Below {
  const below = new Map<number, number[]>();
  for (let at = 1; at < parent.length; at++) {
    if (value[at]! <= 0) continue;
    cached(below, parent[at]!, () => []).push(at);
  }
  for (const frames of below.values()) frames.sort((a, b) => value[b]! - value[a]!);
  return below;
}

/** The rows from top to bottom, without the root. */
function shownRows(below: Below, isOpen: (at: number) => boolean): Row[] {
  const rows: Row[] = [];
  const waiting = [...(below.get(0) ?? [])].reverse().map((at) => ({ at, depth: 0 }));
  for (let next = waiting.pop(); next; next = waiting.pop()) {
    const { at, depth } = next;
    const under = below.get(at);
    const open = under ? isOpen(at) : null;
    rows.push({ at, depth, open });
    if (open) for (const each of [...under!].reverse()) waiting.push({ at: each, depth: depth + 1 });
  }
  return rows;
}

function heaviest({ value }: Tree, below: Below): number[] {
  const path: number[] = [];
  for (let at = below.get(0)?.[0]; at !== undefined; at = below.get(at)?.[0]) {
    if (value[at]! < MOST_OF_IT * value[0]!) break;
    path.push(at);
  }
  return path;
}
