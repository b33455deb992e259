import type { Labels } from '../../metrics/sample.ts';
import type { Side } from './sides.ts';
import type { TimeRange } from '../../api/reader.ts';
import { FAMILIES } from '../../metrics/catalogue.ts';
import type { CatalogueFamily } from '../../metrics/family.ts';

/** A family as far as it decides what may differ. */
interface ComparedFamily {
  readonly name: string;
  /** True: NerdGraph has it too. */
  readonly inNerdGraph: boolean;
}

/** The two values of one series; undefined where an interface does not have it. */
interface Values {
  readonly rest: number | undefined;
  readonly nerdgraph: number | undefined;
}

/** What else is known about the entity of a series. */
interface Circumstances {
  /** True: several hosts of the application have the name of this series' host. */
  readonly sharesName: boolean;
  /** The values of the entity's other series, by family. */
  readonly others: (family: string) => readonly Values[];
}

/** What NerdGraph has as 0 for everything that reports, with or without a row. */
const ZERO_RULE = /_(?:non_)?web_requests_per_second$|_errors_per_second$|_error_ratio$/;
const ROLLING = /_rolling_|^newrelic_application_(?:hosts|instances)$/;
const OF_HOST = /^newrelic_host_/;
const REPORTING = /_reporting$/;
const APDEX_THRESHOLD = /_apdex_threshold_seconds$/;

/** Families of hosts that are calculated from parts, and the family that shows whether an interface has those parts. */
const PARTS: Readonly<Record<string, string>> = {
  newrelic_host_response_time_seconds: 'newrelic_host_queue_time_seconds',
  newrelic_host_total_time_seconds: 'newrelic_host_component_time_seconds',
};

const NO_HOST_DATA = 'REST has no data of this metric for this host';
const KEPT_ZEROS = 'REST keeps zeros of metrics that were collected once';

/**
 * Why two values may differ although both interfaces work (docs/migrating.md, "From REST to NerdGraph"); undefined:
 * nothing explains it.
 */
function expectedReason(
  { name, inNerdGraph }: ComparedFamily,
  { rest, nerdgraph }: Values,
  labels: Labels,
  { sharesName, others }: Circumstances,
): string | undefined {
  if (!inNerdGraph) return 'NerdGraph does not have this family';
  if (ROLLING.test(name)) return 'rolling values and numbers of hosts have another time base with each interface';
  if (sharesName && labels['host'] !== undefined) return 'several hosts share this name, which NerdGraph reads as one';
  if (nerdgraph === undefined) return rest === 0 || isThresholdOfNothing(name, others) ? KEPT_ZEROS : undefined;
  if (rest === undefined) return onlyNerdGraph(name, nerdgraph);
  const part = PARTS[name];
  const lacksParts = part !== undefined && others(part).some((values) => values.rest === undefined);
  return lacksParts ? NO_HOST_DATA : undefined;
}

function onlyNerdGraph(name: string, value: number): string | undefined {
  if (value === 0 && ZERO_RULE.test(name)) {
    return 'NerdGraph has no row for nothing, which is read as 0 for whatever reports';
  }
  if (value === 1 && REPORTING.test(name)) return 'what does not say whether it reports is read as reporting';
  return OF_HOST.test(name) ? NO_HOST_DATA : undefined;
}

/** The threshold of an Apdex over no request at all. */
function isThresholdOfNothing(name: string, others: Circumstances['others']): boolean {
  if (!APDEX_THRESHOLD.test(name)) return false;
  const requests = others(name.replace(APDEX_THRESHOLD, '_apdex_requests'));
  return requests.length > 0 && requests.every(({ rest }) => rest === 0);
}

/** One series as both interfaces have it. */
interface Pair extends Values {
  readonly labels: Labels;
  /** Relative; undefined where one interface does not have the series. */
  readonly difference: number | undefined;
}

interface Found extends Values {
  readonly family: string;
  readonly labels: Labels;
}

/** Labels that repeat in words what an id says. */
const NAMES: ReadonlySet<string> = new Set(['app', 'key_transaction']);

/** The family whose value a difference of `total_time` is measured against, because it is a difference of rounded numbers. */
const TOTAL_TIME = /^(newrelic_(?:application|host))_total_time_seconds$/;

/** The series of two interfaces, those of the same entity, family and labels together. */
class Pairs {
  readonly #byFamily = new Map<string, Pair[]>();

  constructor(rest: Side, nerdgraph: Side) {
    const found = pairUp(rest, nerdgraph);
    for (const each of found.values()) {
      const pairs = this.#byFamily.get(each.family) ?? [];
      this.#byFamily.set(each.family, pairs);
      pairs.push({ ...each, difference: relativeDifference(each, found) });
    }
  }

  ofFamily(family: string): readonly Pair[] {
    return this.#byFamily.get(family) ?? [];
  }
}

function pairUp(rest: Side, nerdgraph: Side): Map<string, Found> {
  const found = new Map<string, Found>();
  for (const { family, labels, value } of rest.series) {
    found.set(keyOf(family, labels), { family, labels, rest: value, nerdgraph: undefined });
  }
  for (const { family, labels, value } of nerdgraph.series) {
    const key = keyOf(family, labels);
    found.set(key, { family, labels, rest: found.get(key)?.rest, nerdgraph: value });
  }
  return found;
}

/** By ids where there are any: names of applications and key transactions are for people. */
function keyOf(family: string, labels: Labels): string {
  const identity = Object.entries(labels).filter(([name]) => !NAMES.has(name));
  return JSON.stringify([family, identity.sort(([a], [b]) => (a < b ? -1 : 1))]);
}

/** |a - b| / max(|a|, |b|); undefined where one of them is absent. */
function relativeDifference(
  { family, labels, rest, nerdgraph }: Found,
  found: ReadonlyMap<string, Found>,
): number | undefined {
  if (rest === undefined || nerdgraph === undefined) return undefined;
  if (rest === nerdgraph) return 0;
  const scope = TOTAL_TIME.exec(family)?.[1];
  const whole = scope === undefined ? undefined : found.get(keyOf(`${scope}_web_transaction_time_seconds`, labels));
  const size =
    whole === undefined
      ? Math.max(Math.abs(rest), Math.abs(nerdgraph))
      : Math.max(whole.rest ?? 0, whole.nerdgraph ?? 0);
  return size === 0 ? 1 : Math.abs(rest - nerdgraph) / size;
}

/** How a family came out. */
interface FamilyResult {
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
