import type { Labels } from '../../metrics/sample.ts';
import type { Values } from './expected.ts';
import type { Side } from './side.ts';

/** One series as both interfaces have it. */
export interface Pair extends Values {
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
export class Pairs {
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
