/**
 * Prints the peak memory in megabytes of the client library, with a refresh and compression. The benchmark
 * (rowsOfResources.ts) runs this as plain JavaScript, because the memory of a loader would count.
 */
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { Gauge, Registry } from 'prom-client';

const FAMILIES = 40;
const series = Number(process.argv[1]);
const registry = new Registry();
const gauges = Array.from({ length: FAMILIES }, (_, index) => {
  const labelNames = ['account', 'app', 'app_id', 'team'];
  const name = `newrelic_application_measurement_${index}_seconds`;
  return new Gauge({ name, help: 'A family of the benchmark.', labelNames, registers: [registry] });
});

for (let round = 1; round <= 2; round += 1) {
  for (let entity = 0; entity < series / FAMILIES; entity += 1) {
    const labels = {
      account: 'production',
      app: `checkout-service-${entity}`,
      app_id: String(1_000_000 + entity),
      team: `team-${entity % 20}`,
    };
    gauges.forEach((gauge, index) => gauge.set(labels, round / (entity + index + 3)));
  }
  for (let render = 0; render < 2; render += 1) {
    await promisify(gzip)(Buffer.from(await registry.metrics()), { level: 1 });
  }
}
process.stdout.write(String(process.resourceUsage().maxRSS / 1024));
