import { FAMILIES } from '../../metrics/catalogue.ts';
import type { Labels } from '../../metrics/family.ts';
import { WINDOW_FAMILIES } from '../../metrics/windowFamilies.ts';
import { groupBy } from '../grouping.ts';
import { entityKey, type Side } from './sides.ts';

/** A series that differs by more than the tolerance, or that only one interface has. */
export interface Difference {
  readonly family: string;
  readonly labels: Labels;
  readonly rest: number | null;
  readonly nerdgraph: number | null;
  /** |a - b| / max(|a|, |b|); for total_time, |a - b| / web_transaction_time. Null if one side lacks the series. */
  readonly difference: number | null;
  readonly expected: boolean;
  /** Why it is expected, or which list lacks the entity. Null: unknown. */
  readonly reason: string | null;
}

/** The values of a series in both interfaces. Null: the interface lacks the series. */
type Pair = Pick<Difference, 'family' | 'labels' | 'rest' | 'nerdgraph'> & { readonly entity: string };

/** Returns the series of the same entity in another family. */
type Others = (family: string) => readonly Pair[];

const REST_ONLY: ReadonlySet<string> = new Set(
  FAMILIES.filter(({ interfaces }) => !interfaces.includes('nerdgraph')).map(({ name }) => name),
);

/** Families over the window. REST may keep zeros for them, or have no data of them for hosts. */
const WINDOW_NAMES: ReadonlySet<string> = new Set(
  [...WINDOW_FAMILIES.application, ...WINDOW_FAMILIES.host].map(({ name }) => name),
);

/** Families that are 0 over NerdGraph for a reporting entity without a row. */
const ZERO_RULE = /_(?:non_)?web_requests_per_second$|_errors_per_second$|_error_ratio$/;
const OTHER_TIME_BASE = /_rolling_|^newrelic_application_(?:hosts|instances)$/;
const REPORTING = /_reporting$/;
const OF_HOST = /^newrelic_host_/;
const APDEX_THRESHOLD = /_apdex_threshold_seconds$/;

/** A difference of rounded numbers, so its deviation is relative to `web_transaction_time` of the same scope. */
const TOTAL_TIME = /^(newrelic_(?:application|host))_total_time_seconds$/;

/** Families of hosts that need several metrics, and the family that shows whether an interface has these metrics. */
const PARTS: Readonly<Record<string, string>> = {
  newrelic_host_response_time_seconds: 'newrelic_host_queue_time_seconds',
  newrelic_host_total_time_seconds: 'newrelic_host_component_time_seconds',
};

const NO_HOST_DATA = 'REST has no data of this metric for this host';
const KEPT_ZEROS = 'REST keeps zeros of metrics that were collected once';

/** Compares both interfaces. Returns families in the order of the catalogue, differences worst first. */
export function compareSides(rest: Side, nerdgraph: Side, tolerance: number) {
  const pairs = pairUp({ rest, nerdgraph });
  const pairsByEntity = groupBy(pairs, ({ entity }) => entity);
  // Two hosts with one name have the same key twice.
  const listed = [groupBy(rest.entities, String), groupBy(nerdgraph.entities, String)];
  const differs = (difference: number | null): boolean => difference === null || difference > tolerance;
  const judged = pairs.map((pair): Difference => {
    const { entity, ...values } = pair;
    const series = pairsByEntity.get(entity) ?? [];
    const others: Others = (name) => series.filter(({ family }) => family === name);
    const counts = listed.map((entities) => entities.get(entity)?.length ?? 0);
    const difference = calculateDifference(pair, others);
    return { ...values, difference, ...judgePair(pair, differs(difference), counts, others) };
  });
  const differences = judged.filter(({ difference }) => differs(difference)).sort((a, b) => rank(b) - rank(a));
  return {
    tolerance,
    families: FAMILIES.flatMap(({ name: family }) => {
      const all = judged.filter((each) => each.family === family);
      const both = all.flatMap(({ difference }) => difference ?? []);
      const result = {
        family,
        compared: both.length,
        differing: both.filter((difference) => difference > tolerance).length,
        max_difference: both.reduce((most, difference) => Math.max(most, difference), 0),
        only_rest: all.filter(({ nerdgraph: value }) => value === null).length,
        only_nerdgraph: all.filter(({ rest: value }) => value === null).length,
      };
      return all.length === 0 ? [] : [result];
    }),
    differences,
    unexpected: differences.filter(({ expected }) => !expected).length,
    /** Number of series whose difference would be expected. */
    not_judged: judged.filter(({ expected }) => expected).length,
  };
}

function pairUp(sides: Readonly<Record<'rest' | 'nerdgraph', Side>>): Pair[] {
  const pairs = new Map<string, Pair>();
  for (const api of ['rest', 'nerdgraph'] as const) {
    for (const { family, labels, value } of sides[api].series) {
      const key = JSON.stringify([family, pickIdentity(labels).sort(([a], [b]) => (a < b ? -1 : 1))]);
      const known = pairs.get(key) ?? { family, labels, rest: null, nerdgraph: null };
      pairs.set(key, { ...known, labels, entity: entityKey(labels), [api]: value });
    }
  }
  return [...pairs.values()];
}

/** Returns the labels that identify a series in both interfaces: names may differ. */
export function pickIdentity(labels: Labels): [name: string, value: string][] {
  return Object.entries(labels).filter(([name]) => name !== 'app' && name !== 'key_transaction');
}

/**
 * Judges whether a difference is expected (docs/migrating.md, "From REST to NerdGraph"). `counts` says how often REST
 * and NerdGraph list the entity.
 */
function judgePair(pair: Pair, differs: boolean, counts: readonly number[], others: Others) {
  const { family, labels } = pair;
  if (REST_ONLY.has(family)) return expect('NerdGraph does not have this family');
  if (counts.includes(0))
    return unexpected(`${counts[0] === 0 ? 'REST' : 'NerdGraph'} does not list this ${describeEntity(labels)}`);
  if (OTHER_TIME_BASE.test(family)) return expect('rolling values and host counts have other time bases');
  if (counts.some((count) => count > 1)) return expect('several hosts share this name, NerdGraph reads them as one');
  if (!differs) return unexpected(null);
  if (labels['key_transaction_id'] !== undefined && labels['app_id'] !== undefined)
    return unexpected('the interfaces list different applications for it');
  if (REPORTING.test(family) && pair.rest === null && pair.nerdgraph === 1)
    return expect('an entry without a reporting state is read as reporting');
  const reason = WINDOW_NAMES.has(family) ? findWindowReason(pair, others) : undefined;
  return reason === undefined ? unexpected(null) : expect(reason);
}

/** Returns why two window values differ although both interfaces work. Undefined: no known reason. */
function findWindowReason({ family, rest, nerdgraph }: Pair, others: Others): string | undefined {
  if (nerdgraph === null) {
    // An Apdex threshold without requests over REST.
    const requests = APDEX_THRESHOLD.test(family) ? others(family.replace(APDEX_THRESHOLD, '_apdex_requests')) : [];
    const isOfNothing = requests.length > 0 && requests.every((pair) => pair.rest === 0);
    return rest === 0 || isOfNothing ? KEPT_ZEROS : undefined;
  }
  if (rest === null) {
    if (nerdgraph === 0 && ZERO_RULE.test(family))
      return 'NerdGraph has no row for no requests: read as 0 for an entity that reports';
    return OF_HOST.test(family) ? NO_HOST_DATA : undefined;
  }
  const part = PARTS[family];
  const lacksParts = part !== undefined && others(part).some((pair) => pair.rest === null);
  return lacksParts ? NO_HOST_DATA : undefined;
}

const expect = (reason: string) => ({ expected: true, reason });
const unexpected = (reason: string | null) => ({ expected: false, reason });

function describeEntity({ host, key_transaction_id }: Labels): string {
  if (key_transaction_id !== undefined) return 'key transaction';
  return host === undefined ? 'application' : 'host';
}

function calculateDifference({ family, rest, nerdgraph }: Pair, others: Others): number | null {
  if (rest === null || nerdgraph === null) return null;
  if (rest === nerdgraph) return 0;
  const scope = TOTAL_TIME.exec(family)?.[1];
  const [whole] = others(`${scope}_web_transaction_time_seconds`);
  const sizes = whole === undefined ? [Math.abs(rest), Math.abs(nerdgraph)] : [whole.rest ?? 0, whole.nerdgraph ?? 0];
  const size = Math.max(...sizes);
  return size === 0 ? 1 : Math.abs(rest - nerdgraph) / size;
}

/** Unexpected differences come first, numbers before absences, the worst first. */
function rank({ expected, difference }: Difference): number {
  return (expected ? 0 : 1e9) + (difference === null ? -1 : Math.min(difference, 1e5));
}
