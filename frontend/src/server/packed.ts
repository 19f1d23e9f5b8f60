/** Reads what `tb_steptime/serve/report/packing.py` made small: texts written once, rows as columns. */

type Json = string | number | boolean | null | readonly Json[] | { readonly [name: string]: Json };

export interface Packed {
  often: readonly Json[];
  content: Json;
}

export function unpacked({ often, content }: Packed): Json {
  const ready: Json[] = [];
  const read = (value: Json): Json => {
    if (typeof value !== "object" || value === null) return value;
    if (isList(value)) return value.map(read);
    if ("=" in value) return ready[value["="] as number]!;
    const inside = Object.fromEntries(Object.entries(value).map(([name, each]) => [name, read(each)]));
    if ("#" in inside) return rowsOf(inside["#"] as readonly string[], inside.v as readonly Json[]);
    return "'" in inside ? Object.fromEntries(inside["'"] as unknown as [string, Json][]) : inside;
  };
  for (const value of often) ready.push(read(value)); // each may refer to those before it
  return read(content);
}

const isList = (value: object): value is readonly Json[] => Array.isArray(value);

function rowsOf(names: readonly string[], columns: readonly Json[]): Json {
  const [first] = columns as readonly (readonly Json[])[];
  return (first ?? []).map((_, row) =>
    Object.fromEntries(names.map((name, at) => [name, (columns[at] as readonly Json[])[row]!])),
  );
}

/** Text that was compressed and written as letters. */
export async function inflated(letters: string): Promise<string> {
  const bytes = Uint8Array.from(atob(letters.trim()), (letter) => letter.charCodeAt(0));
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).text();
}
