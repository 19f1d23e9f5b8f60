/**
 * What the address calls a frame: the names on the way to it as one number. So a link finds the same call path in
 * another measure, another span, and after the program was read by another release.
 */

import { mixed } from "./pairs";
import type { Tree } from "./tree";

/** Of each frame; two frames of one tree have the same by chance, once in some thousand trees of many frames. */
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

/** As it is written; the whole has no name. */
export const frameName = (marks: Int32Array, at: number): string | null =>
  at > 0 ? (marks[at]! >>> 0).toString(36) : null;

/** The frame of that name, of those that are drawn; the whole where there is none. */
export function frameNamed(marks: Int32Array, { value }: Tree, name: string | undefined): number {
  if (name === undefined) return 0;
  const sought = Number.parseInt(name, 36) | 0;
  for (let at = 1; at < marks.length; at++) if (marks[at] === sought && value[at]! > 0) return at;
  return 0;
}
