/** Lines of code, whose names traces and tables hold as "data/sets.py(54): item", and every text as below. */

interface SourceLine {
  file: string;
  /** Counted from 1. */
  line: number;
  function: string;
}

/** Parses "data/sets.py(54): item"; null for anything that is not a line of a Python file, as in `text/frames.py`. */
export function sourceLine(source: string): SourceLine | null {
  const [, file, line, within] = /^([^<].*\.py)\((\d+)\): (.*)$/.exec(source) ?? [];
  return file === undefined ? null : { file, line: Number(line), function: within! };
}

/** Returns "data/sets.py:54 item". */
export function lineName(source: string): string {
  const found = sourceLine(source);
  return found ? `${found.file}:${found.line} ${found.function}` : source;
}

/** The same without the folders of the file: lines differ at their ends, which clipping would remove. */
export const shortName = (source: string): string => lineName(source).replace(/^[^:]*\//, "");
