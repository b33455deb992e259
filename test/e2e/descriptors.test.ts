import { expect, test } from 'vitest';
import { until } from '../real/support/until.ts';
import { hostileClients } from '../web/support/hostile.ts';
import { exporterForTest } from './support/forTest.ts';
import { NODE } from './support/program.ts';

const CONFIG = { accounts: [{ name: 'one', api_key: 'NRAK-ONE', base_url: 'http://127.0.0.1:9/graphql' }] };

test('the exporter logs once that no file descriptor is free, and answers again when some are free', async () => {
  const exporter = await exporterForTest({
    config: CONFIG,
    node: 'sh',
    nodeArgs: ['-c', 'ulimit -n 64 && exec "$0" "$@"', NODE],
  });
  const clients = await hostileClients(100, exporter.port);
  await exporter.said(/level=warn msg="No file descriptor is free/);
  for (const { socket } of clients) socket.destroy();
  await until('an answer', async () => (await exporter.get('/-/healthy')).ok);
  expect(await exporter.text('/metrics?collect[]=exporter')).toContain('process_open_fds');
  expect(exporter.output().match(/No file descriptor/g)).toHaveLength(1);
});
