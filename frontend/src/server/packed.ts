/** Reads what `tb_steptime/serve/report/page.py` packed: rows that are stored as columns. */

type Json = string | number | boolean | null | Json[] | { [name: string]: Json };

/** Decompresses a text that was compressed and encoded as letters. Rejects if they are truncated or damaged. */
export function decompressed(letters: string): Promise<string> {
  const bytes = Uint8Array.from(atob(letters.trim()), (letter) => letter.charCodeAt(0));
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).text();
}

/** Parses JSON whose rows were stored as columns. */
export const unpacked = (text: string): Json => inRows(JSON.parse(text));

export function inRows(value: Json): Json {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(inRows);
  if ("#" in value) return rowsOf(value["#"] as string[], (value.v as Json[][]).map(inRows) as Json[][]);
  const fields = "'" in value ? (value["'"] as [string, Json][]) : Object.entries(value);
  return Object.fromEntries(fields.map(([name, each]) => [name, inRows(each)]));
}

const rowsOf = (names: readonly string[], columns: readonly Json[][]): Json[] =>
  (columns[0] ?? []).map((_, row) => Object.fromEntries(names.map((name, at) => [name, columns[at]![row]!])));
