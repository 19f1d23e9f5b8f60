/** Reads what `tb_steptime/serve/report/packing.py` made small: rows that are written as columns. */

import { unlzma } from "./lzma";

type Json = string | number | boolean | null | Json[] | { [name: string]: Json };

/** JSON that was put into columns, compressed and written as letters. */
export function unpacked(letters: string): Json {
  const bytes = Uint8Array.from(atob(letters.trim()), (letter) => letter.charCodeAt(0));
  return inRows(JSON.parse(new TextDecoder().decode(unlzma(bytes))));
}

export function inRows(value: Json): Json {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(inRows);
  if ("#" in value) return rowsOf(value["#"] as string[], (value.v as Json[][]).map(inRows) as Json[][]);
  const fields = "'" in value ? (value["'"] as [string, Json][]) : Object.entries(value);
  return Object.fromEntries(fields.map(([name, each]) => [name, inRows(each)]));
}

const rowsOf = (names: readonly string[], columns: readonly Json[][]): Json[] =>
  (columns[0] ?? []).map((_, row) => Object.fromEntries(names.map((name, at) => [name, columns[at]![row]!])));
