import { onTestFinished, expect, test } from 'vitest';
import { parse, stringify } from 'yaml';
import { z } from 'zod';
import { pageAt, sectionOf, yamlBlocks } from '../docs/pages.ts';
import { ACCOUNT_ID, nerdGraphAccount } from '../e2e/support/config.ts';
import { exporterForTest } from '../e2e/support/forTest.ts';
import { scrapeUntilFresh } from '../e2e/support/states.ts';
import { simulatorForTest } from '../support/simulator.ts';
import { BOTH_LINES, describeReal } from './support/realPrograms.ts';
import { startAgent, startPrometheus } from './support/servers.ts';

const AGENT = z.looseObject({
  global: z.looseObject({}),
  scrape_configs: z.array(z.looseObject({})).length(1),
  remote_write: z.array(z.looseObject({})).length(1),
});

/** The agent's configuration on docs/collectors.md, with other addresses and a shorter interval. */
function agentConfig(exporterPort: number, store: string): string {
  const [block = ''] = yamlBlocks(sectionOf(pageAt('docs/collectors.md'), '## Prometheus agent'));
  const { global, scrape_configs, remote_write } = AGENT.parse(parse(block));
  // A label of the target that has the name of one of ours.
  const target = { targets: [`127.0.0.1:${exporterPort}`], labels: { app: 'monitoring' } };
  return stringify({
    global: { ...global, scrape_interval: '1s' },
    scrape_configs: scrape_configs.map((job) => ({ ...job, scrape_timeout: '1s', static_configs: [target] })),
    remote_write: remote_write.map((write) => ({ ...write, url: `${store}/api/v1/write` })),
  });
}

await describeReal('Prometheus as an agent, with the configuration of docs/collectors.md', {
  tools: ['prometheus'],
  lines: BOTH_LINES,
  define: (program) => {
    test('sends application metrics with the labels of the exporter, and up, to a store', async () => {
      const simulator = await simulatorForTest({ applications: 3 });
      const account = nerdGraphAccount(simulator, 'production', { account_id: ACCOUNT_ID });
      const exporter = await exporterForTest({ config: { accounts: [account] } });
      const families = await scrapeUntilFresh(exporter);
      const store = await startPrometheus(program('prometheus'), {
        config: 'global: {}\n',
        flags: ['--web.enable-remote-write-receiver'],
      });
      onTestFinished(() => store.stop());
      const agent = await startAgent(program('prometheus'), { config: agentConfig(exporter.port, store.url) });
      onTestFinished(() => agent.stop());

      const [up] = await store.some('up{job="newrelic-apm-exporter"} == 1');
      expect(up?.labels).toMatchObject({ app: 'monitoring' });
      const info = families.find(({ name }) => name === 'newrelic_application_info');
      expect(info?.samples).toHaveLength(3);
      // What one scrape gave may arrive in parts.
      await store.some('count(newrelic_application_info) == 3');
      const sent = await store.query('newrelic_application_info');
      expect(sent.map(({ labels }) => labels['app']).toSorted()).toEqual(
        info?.samples.map(({ labels }) => labels['app']).toSorted(),
      );
      expect(await store.query('{exported_app!="", __name__=~"newrelic_application_.*"}')).toEqual([]);
    });
  },
});
