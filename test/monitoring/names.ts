import { BUILT_IN_NAMES } from '../../src/metrics/catalogue.ts';

/** What Prometheus itself and the client library add, as far as rules and dashboards use it. */
const OTHERS = new Set([
  'up',
  'ALERTS',
  'scrape_duration_seconds',
  'process_resident_memory_bytes',
  'process_cpu_seconds_total',
  'nodejs_eventloop_lag_p99_seconds',
]);

/** Names of metrics in a PromQL expression that neither the catalogue nor the given recording rules have. */
export function unknownNames(expression: string, recorded: ReadonlySet<string> = new Set()): string[] {
  const bare = expression.replace(/"(?:[^"\\]|\\.)*"/g, '""').replace(/\{[^}]*\}/g, '{}');
  const names = bare.match(/\b(?:[a-z_]+:)?(?:newrelic_|process_|nodejs_|scrape_)[a-zA-Z0-9_:]+/g) ?? [];
  return names.filter((name) => !BUILT_IN_NAMES.has(name) && !OTHERS.has(name) && !recorded.has(name));
}
