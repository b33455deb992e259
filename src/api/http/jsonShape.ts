/** Whether a value read from JSON is an object or a list, so that its members can be looked at. */
export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}

export function isList(value: unknown): value is readonly unknown[] {
  return Array.isArray(value);
}
