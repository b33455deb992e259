import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { inFolder } from '../support/folder.ts';
import { runCommand } from './support/processes.ts';
import { describeReal } from './support/realPrograms.ts';

/** Runs farCallsChild.ts in namespaces of its own, where its own name server answers. */
async function callEachWay(): Promise<unknown> {
  return inFolder(async (folder) => {
    const resolver = join(folder, 'resolv.conf');
    writeFileSync(resolver, 'nameserver 127.0.0.1\n');
    const prepare = 'mount --bind "$0" /etc/resolv.conf && ip link set lo up && exec "$@"';
    const node = [process.execPath, '--import', 'tsx', join(import.meta.dirname, 'support/farCallsChild.ts')];
    const command = ['unshare', '--net', '--mount', 'sh', '-c', prepare, resolver, ...node] as const;
    const { status, stdout, stderr } = await runCommand(command);
    if (status !== 0) throw new Error(`ended with status ${String(status)}: ${stderr}`);
    return JSON.parse(stdout) as unknown;
  });
}

await describeReal('a host with several addresses', {
  tools: ['namespaces', 'ip', 'python3'],
  define: () => {
    test('is reached at an address 300 ms away although another address is unreachable or loses every packet', async () => {
      const reached = { plain: '200', tls: '200', proxy: '200' };
      expect(await callEachWay()).toEqual([
        { name: 'far.example', ...reached },
        { name: 'dropped.example', ...reached },
      ]);
    });
  },
});
