import type { TimeRange } from '../../api/reader.ts';
import { FAMILIES } from '../../metrics/catalogue.ts';
import type { Labels } from '../../metrics/sample.ts';
import { expectedReason, type Values } from './expected.ts';
import type { Side, SideSeries } from './side.ts';

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

interface Pair extends Values {
  readonly series: SideSeries;
}

/** Labels that repeat in words what an id says. */
const NAMES: ReadonlySet<string> = new Set(['app', 'key_transaction']);

const ENTITY_LABELS = ['app_id', 'host', 'key_transaction_id'];

/** The family whose value a difference of `total_time` is measured against, because it is a difference of rounded numbers. */
const TOTAL_TIME = /^(newrelic_(?:application|host))_total_time_seconds$/;

/** Compares what the two interfaces say: families in the order of the catalogue, differences worst first. */
export function compareSides(rest: Side, nerdgraph: Side, tolerance: number): Omit<Comparison, 'account' | 'window'> {
  const pairs = pairUp(rest, nerdgraph);
  const shared = sharedNames([rest, nerdgraph]);
  const families: FamilyResult[] = [];
  const differences: Difference[] = [];
  const byFamily = new Map<string, Pair[]>();
  for (const pair of pairs.values()) {
    const { family } = pair.series;
    const ofFamily = byFamily.get(family);
    if (ofFamily === undefined) byFamily.set(family, [pair]);
    else ofFamily.push(pair);
  }
  for (const { name, interfaces } of FAMILIES) {
    const ofFamily = byFamily.get(name) ?? [];
    if (ofFamily.length === 0) continue;
    const relative = ofFamily.map((pair) => differenceOf(pair, pairs));
    const both = relative.filter((difference) => difference !== undefined);
    families.push({
      family: name,
      compared: both.length,
      differing: both.filter((difference) => difference > tolerance).length,
      max_difference: both.reduce((most, difference) => Math.max(most, difference), 0),
      only_rest: ofFamily.filter((pair) => pair.nerdgraph === undefined).length,
      only_nerdgraph: ofFamily.filter((pair) => pair.rest === undefined).length,
    });
    const family = { name, inNerdGraph: interfaces.includes('nerdgraph') };
    for (const [index, pair] of ofFamily.entries()) {
      const difference = relative[index];
      if (difference !== undefined && difference <= tolerance) continue;
      const { labels } = pair.series;
      const reason = expectedReason(family, pair, labels, {
        sharesName: shared.has(hostKey(labels['app_id'], labels['host'])),
        others: (other) => (byFamily.get(other) ?? []).filter(({ series }) => sameEntity(series.labels, labels)),
      });
      differences.push({
        family: name,
        labels,
        rest: pair.rest ?? null,
        nerdgraph: pair.nerdgraph ?? null,
        difference: difference ?? null,
        expected: reason !== undefined,
        reason: reason ?? null,
      });
    }
  }
  differences.sort((a, b) => rank(b) - rank(a));
  return { tolerance, families, differences, unexpected: differences.filter(({ expected }) => !expected).length };
}

function pairUp(rest: Side, nerdgraph: Side): Map<string, Pair> {
  const pairs = new Map<string, Pair>();
  for (const series of rest.series) {
    pairs.set(keyOf(series.family, series.labels), { series, rest: series.value, nerdgraph: undefined });
  }
  for (const series of nerdgraph.series) {
    const key = keyOf(series.family, series.labels);
    pairs.set(key, { series, rest: pairs.get(key)?.rest, nerdgraph: series.value });
  }
  return pairs;
}

/** By ids where there are any: names of applications and key transactions are for people. */
function keyOf(family: string, labels: Labels): string {
  const identity = Object.entries(labels).filter(([name]) => !NAMES.has(name));
  return JSON.stringify([family, identity.sort(([a], [b]) => (a < b ? -1 : 1))]);
}

/** |a - b| / max(|a|, |b|); undefined where one of them is absent. */
function differenceOf({ series, rest, nerdgraph }: Pair, pairs: ReadonlyMap<string, Pair>): number | undefined {
  if (rest === undefined || nerdgraph === undefined) return undefined;
  if (rest === nerdgraph) return 0;
  const scope = TOTAL_TIME.exec(series.family)?.[1];
  const whole =
    scope === undefined ? undefined : pairs.get(keyOf(`${scope}_web_transaction_time_seconds`, series.labels));
  const size =
    whole === undefined
      ? Math.max(Math.abs(rest), Math.abs(nerdgraph))
      : Math.max(whole.rest ?? 0, whole.nerdgraph ?? 0);
  return size === 0 ? 1 : Math.abs(rest - nerdgraph) / size;
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
