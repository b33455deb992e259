import { queryLabelProblem } from '../config/queries.ts';
import { defaultLabel, readStatement } from '../nrql/statement.ts';

/** A label for each facet of a query: its name, with `facet_` before a reserved one; `facet_<position>` where it is taken. */
export function facetLabels(nrql: string, staticLabels: readonly string[]): readonly string[] | undefined {
  const { facets } = readStatement(nrql);
  if (facets.length === 0) return undefined;
  const taken = new Set(staticLabels);
  return facets.map(({ name = '' }, index) => {
    const plain = defaultLabel(name);
    const isReserved = queryLabelProblem(plain, staticLabels) !== undefined;
    let label = isReserved ? `facet_${plain.replace(/^_+/, '')}` : plain;
    if (label === 'facet_' || taken.has(label)) label = `facet_${index + 1}`;
    return freeName(label, taken);
  });
}

/** The name, with `_` appended until it is not taken; adds the result to `taken`. */
export function freeName(name: string, taken: Set<string>): string {
  let free = name;
  while (taken.has(free)) free = `${free}_`;
  taken.add(free);
  return free;
}
