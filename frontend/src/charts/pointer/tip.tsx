/** A small table next to the pointer. It repeats in figures what the picture shows; no fact is only here. */

import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { type Filled, Swatch } from "../../colour";

interface TipRow {
  /** A swatch or a short line of the legend. */
  mark?: ComponentChildren;
  name: string;
  value: string;
}

/** A row about what has a colour of its own. */
export const partRow = (part: Filled & { label: string }, value: string): TipRow => ({
  mark: <Swatch colour={part.colour} hatched={part.hatched} />,
  name: part.label,
  value,
});

export interface TipContent {
  title: string;
  rows: readonly TipRow[];
  /** What a press does here. Not read aloud: keys do it in another way. */
  act?: string;
}

/** Pixels between the pointer and its tip. */
const APART = 8;

interface TipProps {
  /** Null: the pointer is on nothing. */
  content: TipContent | null;
  /** The point that the tip refers to, in a plot of this width. */
  x: number;
  y: number;
  width: number;
  /** Where the bottom edge of the tip is instead, when there is no room below `y`. */
  above?: number | undefined;
  /** True where no other element, such as a slider's value, gives a screen reader the same text. */
  spoken?: boolean;
}

/** Describes what the pointer or the focus is on, next to it. */
export function Tip({ content, spoken = false, ...place }: TipProps) {
  return (
    <>
      {content && <TipBox content={content} {...place} />}
      <span class="visually-hidden" role="status">
        {content && spoken && sentenceOf(content)}
      </span>
    </>
  );
}

type TipBoxProps = Omit<TipProps, "content" | "spoken"> & { content: TipContent };

/** The tip is to the right of the pointer, to its left where there is no room, and never outside the frame. */
function TipBox({ content, x, y, width, above }: TipBoxProps) {
  const tip = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const { offsetWidth: wide, offsetHeight: tall, style, offsetParent } = tip.current!;
    const right = x + APART + wide <= width;
    style.left = `${right ? x + APART : Math.max(0, x - APART - wide)}px`;
    const room = window.innerHeight - (offsetParent?.getBoundingClientRect().top ?? 0) - APART;
    style.top = `${y + tall <= room ? y : Math.min(room, above ?? room) - tall}px`;
  });
  return (
    <div class="tip" ref={tip} aria-hidden="true">
      <b>{content.title}</b>
      {content.rows.length > 0 && (
        <table>
          <tbody>
            {content.rows.map((row, at) => (
              <tr key={at}>
                <td class="name">
                  {row.mark}
                  {row.name}
                </td>
                <td class="num">{row.value}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      {content.act && <span class="quiet">{content.act}</span>}
    </div>
  );
}

export function sentenceOf({ title, rows }: TipContent): string {
  return [title, ...rows.map((row) => `${row.name} ${row.value}`)].join(", ");
}
