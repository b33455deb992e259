import type { TimeRange } from '../../api/reader.ts';
import { FAMILIES } from '../../metrics/catalogue.ts';
import type { CatalogueFamily } from '../../metrics/family.ts';
import type { Labels } from '../../metrics/sample.ts';
import { expectedReason } from './expected.ts';
import { Pairs, type Pair } from './pairs.ts';
import type { Side } from './side.ts';

/** How a family came out. */
export interface FamilyResult {
  readonly family: string;
  /** Series that both interfaces have. */
  readonly compared: number;
  /** How many of those differ by more than the tolerance, and by how much at most. */
  readonly differing: number;
  readonly max_difference: number;
  readonly only_rest: number;
  readonly only_nerdgraph: number;
}

/** A series that differs by more than the tolerance, or that one interface does not have (null). */
export interface Difference {
  readonly family: string;
  readonly labels: Labels;
  readonly rest: number | null;
  readonly nerdgraph: number | null;
  /** Relative; null where one interface does not have the series. */
  readonly difference: number | null;
  readonly expected: boolean;
  /** Why it is expected; null where it is not. */
  readonly reason: string | null;
}

/** The result of a comparison, in the words of its JSON form. */
export interface Comparison {
  readonly account: string;
  readonly window: TimeRange;
  readonly tolerance: number;
  readonly families: readonly FamilyResult[];
  readonly differences: readonly Difference[];
  /** How many differences nothing explains. */
  readonly unexpected: number;
}

const ENTITY_LABELS = ['app_id', 'host', 'key_transaction_id'];

/** Compares what the two interfaces say: families in the order of the catalogue, differences worst first. */
export function compareSides(rest: Side, nerdgraph: Side, tolerance: number): Omit<Comparison, 'account' | 'window'> {
  const pairs = new Pairs(rest, nerdgraph);
  const shared = sharedNames([rest, nerdgraph]);
  const families: FamilyResult[] = [];
  const differences: Difference[] = [];
  for (const family of FAMILIES) {
    const ofFamily = pairs.ofFamily(family.name);
    if (ofFamily.length === 0) continue;
    families.push(familyResult(family.name, ofFamily, tolerance));
    const unlike = ofFamily.filter(({ difference }) => difference === undefined || difference > tolerance);
    differences.push(...unlike.map((pair) => differenceOf(family, pair, pairs, shared)));
  }
  differences.sort((a, b) => rank(b) - rank(a));
  return { tolerance, families, differences, unexpected: differences.filter(({ expected }) => !expected).length };
}

function familyResult(family: string, pairs: readonly Pair[], tolerance: number): FamilyResult {
  const both = pairs.map(({ difference }) => difference).filter((difference) => difference !== undefined);
  return {
    family,
    compared: both.length,
    differing: both.filter((difference) => difference > tolerance).length,
    max_difference: both.reduce((most, difference) => Math.max(most, difference), 0),
    only_rest: pairs.filter(({ nerdgraph }) => nerdgraph === undefined).length,
    only_nerdgraph: pairs.filter(({ rest }) => rest === undefined).length,
  };
}

function differenceOf(
  { name, interfaces }: CatalogueFamily,
  pair: Pair,
  pairs: Pairs,
  shared: ReadonlySet<string>,
): Difference {
  const { labels, rest, nerdgraph, difference } = pair;
  const reason = expectedReason({ name, inNerdGraph: interfaces.includes('nerdgraph') }, pair, labels, {
    sharesName: shared.has(hostKey(labels['app_id'], labels['host'])),
    others: (other) => pairs.ofFamily(other).filter((each) => sameEntity(each.labels, labels)),
  });
  return {
    family: name,
    labels,
    rest: rest ?? null,
    nerdgraph: nerdgraph ?? null,
    difference: difference ?? null,
    expected: reason !== undefined,
    reason: reason ?? null,
  };
}

function sameEntity(a: Labels, b: Labels): boolean {
  return ENTITY_LABELS.every((name) => a[name] === b[name]);
}

/** Hosts that share a name within their application, on either side. */
function sharedNames(sides: readonly Side[]): ReadonlySet<string> {
  const shared = new Set<string>();
  for (const { hosts } of sides) {
    const seen = new Set<string>();
    for (const [applicationId, host] of hosts) {
      const key = hostKey(String(applicationId), host);
      if (seen.has(key)) shared.add(key);
      seen.add(key);
    }
  }
  return shared;
}

function hostKey(applicationId: string | undefined, host: string | undefined): string {
  return JSON.stringify([applicationId, host]);
}

/** What nothing explains comes first, and of it what one interface does not have at all. */
function rank({ expected, difference }: Difference): number {
  return (expected ? 0 : 1e6) + Math.min(difference ?? Infinity, 1e5);
}
