import { expect, test } from 'vitest';
import { parse, stringify } from 'yaml';
import { blocksOf, pageAt } from '../docs/pages.ts';
import { account } from '../e2e/support/config.ts';
import { exporterForTest } from '../e2e/support/forTest.ts';
import { SAME_WINDOW } from '../e2e/support/movedClock.ts';
import { simulatorForTest } from '../support/simulator.ts';
import { describeReal } from './support/realPrograms.ts';
import { startPrometheus } from './support/servers.ts';

const APPLICATIONS = 16;
const SHARDS = 3;

/** The scrape configuration that docs/scaling.md gives for one shard of several, as a job of its own. */
function shardOf(port: number, shard: number): unknown {
  const shown = blocksOf(pageAt('docs/scaling.md').text, 'yaml').find((text) => text.includes('hashmod')) ?? '';
  const text = shown
    .replace(/scrape_(interval|timeout): .*\n/g, '')
    .replace(/(?<=job_name: ).*/, `shard-${shard}`)
    .replace(/http:\/\/[^/]+\/sd/, `http://127.0.0.1:${port}/sd`)
    .replace(/modulus: \d+/, `modulus: ${SHARDS}`)
    .replace(/regex: ["']?\d+["']?/, `regex: "${shard}"`);
  return (parse(text) as { scrape_configs: unknown[] }).scrape_configs[0];
}

await describeReal('a real Prometheus that discovers applications', {
  tools: ['prometheus'],
  define: (program) => {
    // One server has the jobs of all shards: what it keeps of the discovered applications depends on the job alone.
    test('divides the applications among shards as docs/scaling.md shows, each scraped by one shard', async ({
      onTestFinished,
    }) => {
      const simulator = await simulatorForTest({ applications: APPLICATIONS }, onTestFinished);
      const exporter = await exporterForTest(
        { ...SAME_WINDOW, config: { accounts: [account(simulator)] } },
        onTestFinished,
      );
      const server = await startPrometheus(program('prometheus'), {
        config: stringify({
          global: { scrape_interval: '2s', scrape_timeout: '2s' },
          scrape_configs: Array.from({ length: SHARDS }, (_, shard) => shardOf(exporter.port, shard)),
        }),
      });
      onTestFinished(server.stop);
      const scraped = await server.some(`probe_success == 1 and on () (count(probe_success == 1) >= ${APPLICATIONS})`);
      const instances = scraped.map(({ labels }) => labels['instance'] ?? '');
      expect(instances).toHaveLength(APPLICATIONS);
      expect(instances.filter((instance) => !/^default\/\d+$/.test(instance))).toEqual([]);
      expect(new Set(instances).size).toBe(APPLICATIONS);
      expect(new Set(scraped.map(({ labels }) => labels['job'])).size).toBe(SHARDS);
    });
  },
});
