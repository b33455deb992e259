/** The defined values of a metric, as a response has them after validation. */
export function known<Value extends string>(
  values: Readonly<Partial<Record<Value, number | undefined>>>,
): Partial<Record<Value, number>> {
  // Entries of an object have its keys.
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as Partial<
    Record<Value, number>
  >;
}
