/** What each key does. W, A, S, D move as in other trace viewers; every deed has a key without a pointer. */

import type { Way } from "./beside";

export type Deed =
  | { kind: "zoom"; factor: number }
  /** By a share of what is in sight. */
  | { kind: "pan"; share: number }
  | { kind: "move"; way: Way }
  | { kind: "step"; by: 1 | -1 }
  | { kind: "open" | "drop" | "reset" | "fit" | "find" };

/** One press; held keys repeat. */
const CLOSER = 1 / 1.3;
const PAN = 0.12;

const DEEDS: Readonly<Record<string, Deed>> = {
  w: { kind: "zoom", factor: CLOSER },
  "+": { kind: "zoom", factor: CLOSER },
  "=": { kind: "zoom", factor: CLOSER },
  s: { kind: "zoom", factor: 1 / CLOSER },
  "-": { kind: "zoom", factor: 1 / CLOSER },
  a: { kind: "pan", share: -PAN },
  d: { kind: "pan", share: PAN },
  ArrowLeft: { kind: "move", way: "left" },
  ArrowRight: { kind: "move", way: "right" },
  ArrowUp: { kind: "move", way: "up" },
  ArrowDown: { kind: "move", way: "down" },
  "[": { kind: "step", by: -1 },
  "]": { kind: "step", by: 1 },
  Enter: { kind: "open" },
  Escape: { kind: "drop" },
  "0": { kind: "reset" },
  Home: { kind: "reset" },
  f: { kind: "fit" },
  "/": { kind: "find" },
};

export interface Pressed {
  key: string;
  ctrlKey: boolean;
  metaKey: boolean;
  altKey: boolean;
  shiftKey: boolean;
}

/** Null: the key is the browser's. */
export function deedOf({ key, ctrlKey, metaKey, altKey, shiftKey }: Pressed): Deed | null {
  if (ctrlKey || metaKey || altKey) return null;
  if (shiftKey && key === "ArrowLeft") return DEEDS["a"]!;
  if (shiftKey && key === "ArrowRight") return DEEDS["d"]!;
  return (Object.hasOwn(DEEDS, key) ? DEEDS[key] : DEEDS[key.length === 1 ? key.toLowerCase() : key]) ?? null;
}

export interface Turned {
  deltaX: number;
  deltaY: number;
  deltaMode: number;
  ctrlKey: boolean;
  metaKey: boolean;
  shiftKey: boolean;
}

export type Turn = { kind: "zoom"; factor: number } | { kind: "pan"; px: number } | null;

const LINE_PX = 16;

/** A wheel's notch goes a quarter closer; a trackpad's pinch arrives as many small ones. Null: the page scrolls. */
export function turnOf({ deltaX, deltaY, deltaMode, ctrlKey, metaKey, shiftKey }: Turned): Turn {
  const px = deltaMode === 0 ? 1 : LINE_PX;
  const pinch = deltaMode === 0 && Math.abs(deltaY) < 40 && ctrlKey;
  if (ctrlKey || metaKey)
    return { kind: "zoom", factor: Math.exp(Math.max(-0.4, Math.min(0.4, deltaY * px * (pinch ? 0.01 : 0.0023)))) };
  if (shiftKey) return { kind: "pan", px: (deltaX || deltaY) * px };
  return Math.abs(deltaX) > Math.abs(deltaY) ? { kind: "pan", px: deltaX * px } : null;
}
