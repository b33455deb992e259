import { expect, test } from 'vitest';
import { run } from './support/processes.ts';
import { BOTH_LINES, describeReal } from './support/realPrograms.ts';
import { startAlertmanager, startPrometheus } from './support/servers.ts';

await describeReal('the real programs', {
  tools: ['prometheus', 'promtool', 'alertmanager', 'amtool'],
  lines: BOTH_LINES,
  define: (program) => {
    test('Prometheus starts on a free loopback port, answers a query, and leaves nothing behind', async () => {
      const prometheus = await startPrometheus(program('prometheus'), { config: 'global: {scrape_interval: 1s}\n' });
      try {
        expect(await prometheus.query('vector(42)', 1_700_000_000)).toEqual([{ labels: {}, value: 42 }]);
        await expect(prometheus.query('rate(')).rejects.toThrow(/parse error/);
      } finally {
        await prometheus.stop();
      }
      await expect(fetch(prometheus.url)).rejects.toThrow();
    });

    test('Alertmanager starts although its template is not installed', async () => {
      const alertmanager = await startAlertmanager(program('alertmanager'), {
        config: 'route: {receiver: nobody}\nreceivers: [{name: nobody}]\n',
      });
      try {
        const { status, stderr } = await run(program('amtool'), [
          `--alertmanager.url=${alertmanager.url}`,
          'alert',
          'query',
        ]);
        expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
      } finally {
        await alertmanager.stop();
      }
    });

    test('a server that refuses its configuration is a failure that carries its words', async () => {
      const start = startPrometheus(program('prometheus'), { config: 'no_such_key: true\n' });
      await expect(start).rejects.toThrow(/no_such_key/);
    });

    test('promtool takes its input from standard input', async () => {
      const lint = await run(program('promtool'), ['check', 'metrics'], { input: '# TYPE a_ms gauge\na_ms 1\n' });
      expect(lint.status).toBe(3);
      expect(lint.stderr).toMatch(/no help text/);
    });
  },
});
