/** What a call asks for: the address under the base address, and the path template it is counted under. */
export interface Target {
  /** Such as `/applications/{id}/hosts.json`: a label of bounded values. */
  readonly endpoint: string;
  /** Path and query, percent-encoded. */
  readonly path: string;
}

/** @param query as `queryOf` writes it */
export function target(template: string, ids: Readonly<Record<string, number | string>> = {}, query = ''): Target {
  const path = template.replace(/\{(\w+)\}/g, (_, name: string) => encoded(String(ids[name])));
  return { endpoint: template, path: query === '' ? path : `${path}?${query}` };
}

/** Metric data and names of a host differ from those of its application only by a path segment. */
export function metricTarget(
  file: string,
  { applicationId: id, hostKey }: { readonly applicationId: number; readonly hostKey?: string | undefined },
  query: string,
): Target {
  return hostKey === undefined
    ? target(`/applications/{id}/${file}`, { id }, query)
    : target(`/applications/{id}/hosts/{host_id}/${file}`, { id, host_id: hostKey }, query);
}

export function queryOf(parameters: readonly (readonly [name: string, value: string])[]): string {
  return parameters.map(([name, value]) => `${encoded(name)}=${encoded(value)}`).join('&');
}

/** Names come from outside and may hold half a surrogate pair, which `encodeURIComponent` refuses. */
function encoded(text: string): string {
  try {
    return encodeURIComponent(text);
  } catch {
    return encodeURIComponent(text.replace(/\p{Surrogate}/gu, '\uFFFD'));
  }
}
