import { getOrSet } from './getOrSet.ts';
import type { Row } from './row.ts';
import { isDatastore } from '../datastores.ts';
import type { UpstreamError } from '../errors.ts';

/** The key of the application itself among its hosts. */
export const ITSELF = '';

/** What was read of one application. */
export class Found {
  /** By host, or `ITSELF`, and metric name: rows in the order of time, without buckets exactly one. */
  readonly rows = new Map<string, Map<string, Row[]>>();
  /** Of hosts, or `ITSELF`. */
  readonly failures = new Map<string, UpstreamError>();
  /** Concerns all hosts. */
  failure: UpstreamError | undefined;
  /** True: it failed because there are more rows than an answer holds, however it is divided. */
  tooMany = false;

  /** Takes in what was read of a later range. */
  append(later: Found): void {
    this.failure ??= later.failure;
    for (const [host, failure] of later.failures) this.failures.set(host, failure);
    for (const [host, metrics] of later.rows) {
      const kept = getOrSet(this.rows, host, () => new Map<string, Row[]>());
      for (const [name, rows] of metrics) kept.set(name, [...(kept.get(name) ?? []), ...rows]);
    }
  }

  failureOf(key: string): UpstreamError | undefined {
    return this.failure ?? this.failures.get(key);
  }

  /** How many datastore metrics the host that has most of them has, or `ITSELF`; undefined where nothing was read. */
  datastores(): number | undefined {
    if (this.failure !== undefined || this.rows.size === 0) return undefined;
    let most = 0;
    for (const metrics of this.rows.values()) {
      let datastores = 0;
      for (const name of metrics.keys()) if (isDatastore(name)) datastores += 1;
      most = Math.max(most, datastores);
    }
    return most;
  }
}
