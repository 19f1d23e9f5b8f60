/** Shapes and types of an op's inputs, which the trace holds as JSON, as they fit a line. */

/** "1024×512, 512×256, float": operands without a shape are left out, a type that all share stands once. */
export function inputsOf(shapes: string | null, dtypes: string | null): string {
  const sizes = listOf(shapes)
    .map(sizeOf)
    .filter((size) => size !== "");
  const types = new Set(
    listOf(dtypes)
      .filter((type): type is string => typeof type === "string" && type !== "")
      .map((type) => type.replace(/^c10::/, "")),
  );
  return [...sizes, ...[...types].filter((type) => !NOT_TENSORS.has(type))].join(", ");
}

/** What the profiler writes in place of a type for numbers and lists. */
const NOT_TENSORS: ReadonlySet<string> = new Set(["Scalar", "ScalarList", "TensorList", "GenericList"]);

/** "64×32"; empty for a scalar, nested lists (lists of tensors) in brackets. */
function sizeOf(shape: unknown): string {
  if (!Array.isArray(shape)) return "";
  if (shape.some(Array.isArray)) return `[${shape.map(sizeOf).join(", ")}]`;
  return shape.join("×");
}

/** Nothing where it is no list: an older profiler cuts long ones off. */
function listOf(json: string | null): readonly unknown[] {
  try {
    const read: unknown = JSON.parse(json ?? "[]");
    return Array.isArray(read) ? read : [];
  } catch {
    return [];
  }
}
