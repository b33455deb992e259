interface Mapping<K, V> {
  get(key: K): V | undefined;
  set(key: K, value: V): unknown;
}

/** Returns the value of a key. Adds the value of `make` if there is none. */
export function getOrAdd<K, V>(map: Mapping<K, V>, key: K, make: () => V): V {
  let value = map.get(key);
  if (value === undefined) map.set(key, (value = make()));
  return value;
}
