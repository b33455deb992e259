import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { startSimulator } from '../../src/simulator/simulator.ts';
import { account } from '../e2e/support/config.ts';
import { SAME_WINDOW } from '../e2e/support/movedClock.ts';
import { startExporter, type Exporter } from '../e2e/support/program.ts';
import { describeReal } from './support/realPrograms.ts';
import { startPrometheus } from './support/servers.ts';
import { until } from './support/until.ts';

const APPLICATIONS = 16;
const SHARDS = 3;
const GLOBAL = 'global: {scrape_interval: 2s, scrape_timeout: 2s}\n';

/** The scrape configuration that docs/scaling.md gives for one shard of several. */
function shardOf(port: number, shard: number): string {
  const page = readFileSync(new URL('../../docs/scaling.md', import.meta.url), 'utf8');
  const example = [...page.matchAll(/```yaml\n([\s\S]*?)```/g)].map(([, text = '']) => text);
  const hashmod = example.find((text) => text.includes('hashmod'));
  if (hashmod === undefined) throw new Error('docs/scaling.md shows no hashmod any more');
  return (
    GLOBAL +
    hashmod
      .replace(/scrape_(interval|timeout): .*\n/g, '')
      .replace(/http:\/\/[^/]+\/sd/, `http://127.0.0.1:${port}/sd`)
      .replace(/modulus: \d+/, `modulus: ${SHARDS}`)
      .replace(/regex: ["']?\d+["']?/, `regex: "${shard}"`)
  );
}

await describeReal('a real Prometheus that discovers applications', {
  tools: ['prometheus'],
  define: (program) => {
    test('divides the applications among servers as docs/scaling.md shows: each is scraped by one', async () => {
      const simulator = await startSimulator({ applications: APPLICATIONS });
      const config = { accounts: [account(simulator)] };
      const start = (): Promise<Exporter> => startExporter({ ...SAME_WINDOW, config });
      const exporters = await Promise.all(Array.from({ length: SHARDS }, start));
      const servers = await Promise.all(
        exporters.map(({ port }, shard) => startPrometheus(program('prometheus'), { config: shardOf(port, shard) })),
      );
      try {
        const scraped = await until('every application', async () => {
          const all = await Promise.all(servers.map((server) => server.query('probe_success == 1')));
          return all.flat().length >= APPLICATIONS ? all : undefined;
        });
        const instances = scraped.flat().map(({ labels }) => labels['instance']);
        expect(instances).toHaveLength(APPLICATIONS);
        expect(instances.every((instance) => /^default\/\d+$/.test(instance ?? ''))).toBe(true);
        expect(new Set(instances).size).toBe(APPLICATIONS);
        expect(scraped.every((some) => some.length > 0)).toBe(true);
      } finally {
        await Promise.all([...servers, ...exporters].map((each) => each.stop()));
        await simulator.close();
      }
    });
  },
});
