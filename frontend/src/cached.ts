interface Known<Key, Value> {
  get(key: Key): Value | undefined;
  set(key: Key, value: Value): unknown;
}

/** The value of a key, which is made the first time. */
export function cached<Key, Value>(cache: Known<Key, Value>, key: Key, make: () => Value): Value {
  const found = cache.get(key);
  if (found !== undefined) return found;
  const made = make();
  cache.set(key, made);
  return made;
}
