import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { configText } from '../e2e/support/config.ts';
import { NODE, startProgram } from '../e2e/support/program.ts';
import { inFolder } from '../support/folder.ts';
import { describeReal } from './support/realPrograms.ts';

const CONFIG = { accounts: [{ name: 'one', api_key: 'NRAK-ONE', base_url: 'http://127.0.0.1:9/graphql' }] };

await describeReal('where /etc/hosts names localhost', {
  tools: ['unshare', 'node24'],
  define: (program) => {
    test.each([
      ['by IPv4 and IPv6', '127.0.0.1 localhost\n::1 localhost\n', ['127.0.0.1', '[::1]']],
      ['by IPv6 and IPv4', '::1 localhost\n127.0.0.1 localhost\n', ['127.0.0.1', '[::1]']],
      ['by IPv4 alone', '127.0.0.1 localhost\n', ['127.0.0.1']],
      [
        'also by an address that the machine does not have',
        '127.0.0.1 localhost\n2001:db8::1 localhost\n',
        ['127.0.0.1'],
      ],
    ])('%s, the exporter listens on each of its addresses with one port', (_, hosts, expected) =>
      inFolder(async (folder) => {
        writeFileSync(join(folder, 'hosts'), hosts);
        writeFileSync(join(folder, 'config.yaml'), configText(CONFIG));
        const script = 'mount --bind "$0" /etc/hosts && exec "$@"';
        const exporter = startProgram({
          node: program('unshare').path,
          nodeArgs: ['--mount', 'sh', '-c', script, join(folder, 'hosts'), NODE],
          args: ['--web.listen-address=localhost:0', '--log.level=debug'],
          cwd: folder,
        });
        try {
          for (const address of expected) {
            const [, port] = await exporter.said(/Listening"? address=\S+:(\d+)/);
            await exporter.said(new RegExp(`Listening"? address=${address.replaceAll(/[[\]]/g, '\\$&')}:${port}\\b`));
            expect((await fetch(`http://${address}:${port}/-/healthy`)).status).toBe(200);
          }
        } finally {
          exporter.signal('SIGTERM');
          await exporter.ended;
        }
        expect(exporter.output().match(/msg="?Listening/g)).toHaveLength(expected.length);
      }),
    );
  },
});
