/**
 * The filters of the lists. Names match when they contain the text, whatever its case; ids are a comma
 * list; filters given together must all hold. An empty filter is none.
 */
function given(query: URLSearchParams, name: string): string | undefined {
  const value = query.get(`filter[${name}]`);
  return value === null || value === '' ? undefined : value;
}

const contains = (text: string, part: string): boolean => text.toLowerCase().includes(part.toLowerCase());

/** A test for names under `filter[<parameter>]`. */
export function nameFilter(query: URLSearchParams, parameter: string): (names: readonly string[]) => boolean {
  const part = given(query, parameter);
  return (names) => part === undefined || names.some((name) => contains(name, part));
}

export function idsFilter(query: URLSearchParams): (id: number) => boolean {
  const ids = given(query, 'ids');
  if (ids === undefined) return () => true;
  const wanted = new Set(ids.split(',').map(Number));
  return (id) => wanted.has(id);
}

export function languageFilter(query: URLSearchParams): (language: string) => boolean {
  const wanted = given(query, 'language')?.toLowerCase();
  return (language) => wanted === undefined || language === wanted;
}

export function isTrue(query: URLSearchParams, name: string): boolean {
  return ['true', '1'].includes(query.get(name) ?? '');
}
