/** Commands of the timeline: which key or wheel movement gives which, and what each does. */

import {
  around,
  lengthOf,
  panned,
  rangeOf,
  showing,
  type TimeRange,
  touches,
  withNeighbours,
  zoomed,
} from "../../../time_range";
import type { Box } from "../data/boxes";
import { joined } from "../range";
import type { Scene } from "../scene";
import { type Direction, foldable, moveFromHead, nextBox } from "./neighbours";

type Command =
  | { kind: "zoom"; factor: number }
  /** By a share of the visible range. */
  | { kind: "pan"; share: number }
  | { kind: "move"; direction: Direction }
  | { kind: "step"; by: 1 | -1 }
  /** `more`: extends the measured range to the selected event. */
  | { kind: "measure"; more: boolean }
  | { kind: "open" | "drop" | "reset" | "fit" | "fit_range" | "find" | "filter" | "head" | "pin" };

/** The effect of one press; held keys repeat. */
const CLOSER = 1 / 1.3;
const PAN = 0.12;

const COMMANDS: Readonly<Record<string, Command>> = {
  w: { kind: "zoom", factor: CLOSER },
  "+": { kind: "zoom", factor: CLOSER },
  "=": { kind: "zoom", factor: CLOSER },
  s: { kind: "zoom", factor: 1 / CLOSER },
  "-": { kind: "zoom", factor: 1 / CLOSER },
  a: { kind: "pan", share: -PAN },
  d: { kind: "pan", share: PAN },
  ArrowLeft: { kind: "move", direction: "left" },
  ArrowRight: { kind: "move", direction: "right" },
  ArrowUp: { kind: "move", direction: "up" },
  ArrowDown: { kind: "move", direction: "down" },
  "[": { kind: "step", by: -1 },
  "]": { kind: "step", by: 1 },
  Enter: { kind: "open" },
  " ": { kind: "open" },
  Escape: { kind: "drop" },
  "0": { kind: "reset" },
  Home: { kind: "reset" },
  f: { kind: "fit" },
  m: { kind: "measure", more: false },
  z: { kind: "fit_range" },
  "/": { kind: "find" },
  t: { kind: "filter" },
  h: { kind: "head" },
  p: { kind: "pin" },
};

interface Pressed {
  key: string;
  ctrlKey: boolean;
  metaKey: boolean;
  altKey: boolean;
  shiftKey: boolean;
}

/** Null: the key is left to the browser. */
export function commandOf({ key, ctrlKey, metaKey, altKey, shiftKey }: Pressed): Command | null {
  if (ctrlKey || metaKey || altKey) return null;
  if (shiftKey && key === "ArrowLeft") return COMMANDS.a!;
  if (shiftKey && key === "ArrowRight") return COMMANDS.d!;
  if (shiftKey && key.toLowerCase() === "m") return { kind: "measure", more: true };
  return (Object.hasOwn(COMMANDS, key) ? COMMANDS[key] : COMMANDS[key.length === 1 ? key.toLowerCase() : key]) ?? null;
}

interface Wheel {
  deltaX: number;
  deltaY: number;
  deltaMode: number;
  ctrlKey: boolean;
  metaKey: boolean;
  shiftKey: boolean;
}

type WheelCommand = { kind: "zoom"; factor: number } | { kind: "pan"; px: number } | null;

const LINE_PX = 16;

/**
 * One notch of a wheel zooms in by a quarter; a trackpad's pinch arrives as many small movements. Null: the page
 * scrolls.
 */
export function wheelCommand({ deltaX, deltaY, deltaMode, ctrlKey, metaKey, shiftKey }: Wheel): WheelCommand {
  const px = deltaMode === 0 ? 1 : LINE_PX;
  const pinch = deltaMode === 0 && Math.abs(deltaY) < 40 && ctrlKey;
  if (ctrlKey || metaKey)
    return { kind: "zoom", factor: Math.exp(Math.max(-0.4, Math.min(0.4, deltaY * px * (pinch ? 0.01 : 0.0023)))) };
  if (shiftKey) return { kind: "pan", px: (deltaX || deltaY) * px };
  return Math.abs(deltaX) > Math.abs(deltaY) ? { kind: "pan", px: deltaX * px } : null;
}

export interface Actions {
  setVisible(next: (before: TimeRange) => TimeRange): void;
  point(box: Box | null): void;
  choose(box: Box | null): void;
  /** Null: ends measuring. `held`: the pointer is still drawing the range. */
  measure(range: TimeRange | null, held?: boolean): void;
  /** Null: no track name is selected. */
  focusHead(track: number | null): void;
  fold(track: number): void;
  pin(track: number): void;
  reset(): void;
  step(by: 1 | -1): void;
  find(): void;
  filter(): void;
}

export function run(command: Command, scene: Scene, whole: TimeRange, actions: Actions): void {
  switch (command.kind) {
    case "zoom":
      return actions.setVisible((visible) => zoomed(visible, zoomPoint(scene), command.factor, whole));
    case "pan":
      return actions.setVisible((visible) => panned(visible, command.share * lengthOf(visible), whole));
    case "move":
      return move(command.direction, scene, whole, actions);
    case "fit":
      return fit(scene, whole, actions);
    case "open":
      if (scene.pointed) return actions.choose(scene.pointed);
      return fold(scene, actions);
    case "head":
      return scene.pointed ? toHead(scene.pointed.track, actions) : undefined;
    case "pin": {
      const track = scene.pointed?.track ?? scene.head;
      return track === null ? undefined : actions.pin(track);
    }
    case "filter":
      return actions.filter();
    case "drop":
      if (scene.range) return actions.measure(null);
      actions.point(null);
      actions.focusHead(null);
      return actions.choose(null);
    case "measure":
      return actions.measure(measured(command.more, scene));
    case "fit_range":
      return scene.range ? actions.setVisible(() => withNeighbours(scene.range!, whole)) : undefined;
    case "reset":
      return actions.reset();
    case "step":
      return actions.step(command.by);
    case "find":
      return actions.find();
    default:
      return command satisfies never;
  }
}

/** The picture follows to an event that is not visible; of a long event only the beginning is shown. */
function move(direction: Direction, scene: Scene, whole: TimeRange, actions: Actions): void {
  const { layers, layout, pointed, head, visible } = scene;
  if (head !== null && !pointed) {
    const way = moveFromHead(scene, head, direction);
    if (way?.kind === "head") actions.focusHead(way.track);
    else if (way?.kind === "fold") actions.fold(head);
    else if (way) select(way.box, whole, actions);
    return;
  }
  const next = nextBox(layers, layout, pointed, direction, visible);
  if (next) select(next, whole, actions);
  else if (pointed && direction === "left" && isFirst(scene, whole)) toHead(pointed.track, actions);
}

/** Whether there are no earlier boxes left to load. */
const isFirst = ({ layers }: Scene, whole: TimeRange): boolean =>
  layers[0] !== undefined && layers[0].boxes.covers.from <= whole.from;

function toHead(track: number, actions: Actions): void {
  actions.point(null);
  actions.focusHead(track);
}

function fold({ head, layout }: Scene, actions: Actions): void {
  const place = head === null ? undefined : layout.tracks.get(head);
  if (place && foldable(place)) actions.fold(place.track.id);
}

function select(next: Box, whole: TimeRange, actions: Actions): void {
  actions.focusHead(null);
  actions.point(next);
  actions.setVisible((before) =>
    touches(next, before)
      ? before
      : showing(before, { from: next.from, to: Math.min(next.to, next.from + lengthOf(before) / 2) }, whole),
  );
}

function measured(more: boolean, { pointed, chosen, visible, range }: Scene): TimeRange {
  const event = pointed ?? (chosen && rangeOf(chosen));
  const { from, to } = event ?? visible;
  return joined(more ? range : null, { from: Math.round(from), to: Math.round(to) });
}

function fit(scene: Scene, whole: TimeRange, actions: Actions): void {
  const { pointed, head, chosen } = scene;
  if (!pointed && head !== null) return fold(scene, actions);
  const target = pointed ?? (chosen && rangeOf(chosen));
  if (target) actions.setVisible(() => around(target, whole));
}

/** Keys zoom at the pointer, else at the focused event, else in the middle. */
function zoomPoint({ pointer_ns, pointed, visible }: Pick<Scene, "pointer_ns" | "pointed" | "visible">): number {
  if (pointer_ns !== null) return pointer_ns;
  const at = pointed && touches(pointed, visible) ? pointed : visible;
  return (Math.max(at.from, visible.from) + Math.min(at.to, visible.to)) / 2;
}
