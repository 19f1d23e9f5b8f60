/** Whether two values that came as JSON say the same. Stops at the first difference. */
export function same(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false;
  if (Array.isArray(a) !== Array.isArray(b)) return false;
  const [of, other] = [a as Record<string, unknown>, b as Record<string, unknown>];
  const keys = Object.keys(of);
  return keys.length === Object.keys(other).length && keys.every((key) => key in other && same(of[key], other[key]));
}
