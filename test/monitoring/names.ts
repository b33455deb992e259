import { readdirSync } from 'node:fs';
import { resolve } from 'node:path';
import { z } from 'zod';
import { BUILT_IN_NAMES } from '../../src/metrics/catalogue.ts';
import { ROOT, strictYaml } from './ruleFiles.ts';

const pack = z.object({ queries: z.array(z.object({ metrics: z.array(z.object({ name: z.string() })) })) });

/** Families that the query packs publish. */
export const PACK_NAMES: ReadonlySet<string> = new Set(
  readdirSync(resolve(ROOT, 'packs')).flatMap((file) =>
    pack.parse(strictYaml(`packs/${file}`)).queries.flatMap(({ metrics }) => metrics.map(({ name }) => name)),
  ),
);

/** What Prometheus itself and the client library add, as far as rules and dashboards use it. */
const OTHERS = new Set([
  'up',
  'ALERTS',
  'ALERTS_FOR_STATE',
  // Recording rules that users write (docs/alerts.md).
  'newrelic_alert_threshold',
  'newrelic_alert_exempt',
  // The same for service levels (docs/service-levels.md).
  'newrelic_slo_objective',
  'scrape_duration_seconds',
  'process_resident_memory_bytes',
  'process_cpu_seconds_total',
  'nodejs_eventloop_lag_p99_seconds',
]);

/** Names of metrics in a PromQL expression that neither the catalogue nor the given recording rules have. */
export function unknownNames(expression: string, recorded: ReadonlySet<string> = new Set()): string[] {
  const bare = expression.replace(/"(?:[^"\\]|\\.)*"/g, '""').replace(/\{[^}]*\}/g, '{}');
  const names = bare.match(/\b(?:[a-z_]+:)?(?:newrelic_|process_|nodejs_|scrape_)[a-zA-Z0-9_:]+/g) ?? [];
  return names.filter(
    (name) => !BUILT_IN_NAMES.has(name) && !OTHERS.has(name) && !PACK_NAMES.has(name) && !recorded.has(name),
  );
}
