import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { NODE, runProgram, startProgram, type ProgramOptions } from '../e2e/support/program.ts';
import { configText } from '../e2e/support/config.ts';
import { inFolder } from '../support/folder.ts';
import { firstChild } from './support/firstProcess.ts';
import { describeReal } from './support/realPrograms.ts';

/** No command waits for a lookup: each would take minutes, and these milliseconds only end what hangs. */
const LIMIT = 90_000;

/** Routes a network to the loopback interface, where the system drops what it does not know: that name server is silent. */
const SILENCE =
  'ip link set lo up && ip route add 192.0.2.0/24 dev lo && mount --bind "$0" /etc/resolv.conf && exec "$@"';

const RESOLVERS = {
  'of a host': 'nameserver 192.0.2.1\noptions timeout:30 attempts:5\n',
  'of a pod': [
    'nameserver 192.0.2.1',
    'search newrelic.svc.cluster.local svc.cluster.local cluster.local',
    'options ndots:5 timeout:30 attempts:5',
    '',
  ].join('\n'),
};

/** With retries a program waits seconds longer, and more of its lookups hang at once. */
const configOf = (max_retries: number): string =>
  configText({
    accounts: [
      { name: 'one', api_key: 'NRAK-KEYOFATEST', account_id: 1, limits: { request_timeout: '1s', max_retries } },
    ],
    collection: { background: true },
  });

/** Commands, and their retries. */
const COMMANDS: readonly (readonly [command: string, retries: number])[] = [
  ['check --live', 2],
  ['check --live --facts', 0],
  ['plan', 0],
  ['discover', 0],
  ['metric-names --app=shop', 0],
  ['backfill --from=2026-01-01T00:00:00Z --to=2026-01-01T01:00:00Z', 0],
  ['query SELECT', 0],
  ['compare', 0],
];

// The tests mostly wait for lookups, each in a network of its own: they wait together.
await describeReal('with a name server that never answers', {
  tools: ['unshare', 'ip', 'node24'],
  define: (program) => {
    /** Options to start a program in namespaces of its own, with this resolv.conf. */
    const silenced = (
      folder: string,
      resolver: string,
      node: string,
      { asFirst = false, retries = 0 } = {},
    ): ProgramOptions => {
      writeFileSync(join(folder, 'resolv.conf'), resolver);
      writeFileSync(join(folder, 'config.yaml'), configOf(retries));
      const processes = asFirst ? ['--pid', '--fork', '--kill-child', '--mount-proc'] : [];
      const script = ['sh', '-c', SILENCE, join(folder, 'resolv.conf')];
      return {
        node: program('unshare').path,
        nodeArgs: ['--net', '--mount', ...processes, ...script, node],
        cwd: folder,
        env: { NEW_RELIC_API_KEY: 'NRAK-KEYOFATEST' },
      };
    };

    describe.concurrent.each([
      ['of a host', 2],
      ['of a pod', 0],
    ] as const)('and the resolv.conf %s, with %d retries', (place, retries) => {
      const stopped = (node: string, asFirst: boolean, twice: boolean) =>
        inFolder(async (folder) => {
          const exporter = startProgram({
            ...silenced(folder, RESOLVERS[place], node, { asFirst, retries }),
            args: ['serve', '--web.listen-address=127.0.0.1:0'],
          });
          const kill = setTimeout(() => exporter.signal('SIGKILL'), LIMIT);
          await exporter.said(/no response within 1 s/);
          const pid = asFirst ? await firstChild(exporter.pid) : exporter.pid;
          process.kill(pid, 'SIGTERM');
          await exporter.said(/msg="Shutting down" signal=SIGTERM\n/);
          if (twice) exporter.signal('SIGTERM');
          const ended = await exporter.ended;
          clearTimeout(kill);
          // Node aborts where another program cannot take its place, and says why.
          if (ended.signal === 'SIGABRT') throw new Error(exporter.output());
          return ended;
        });

      test.each([
        ['', false],
        [' as PID 1', true],
      ])('SIGTERM ends the exporter with status 0%s', async (_name, asFirst) => {
        expect(await stopped(NODE, asFirst, false)).toEqual({ status: 0, signal: null });
      });

      test('a second SIGTERM ends the exporter at once', async () => {
        // The first one may have ended it, or be about to.
        expect(['SIGTERM', null]).toContain((await stopped(NODE, false, true)).signal);
      });

      test('SIGTERM ends the exporter by that signal on Node.js 20, which cannot replace a process', async () => {
        const [major = ''] = process.versions.node.split('.');
        const ended = await stopped(process.execPath, false, false);
        expect([ended.status, ended.signal]).toEqual(Number(major) < 22 ? [null, 'SIGTERM'] : [0, null]);
      });
    });

    test.concurrent.each(COMMANDS)('%s ends with status 1 after the lookups have failed', (command, retries) =>
      inFolder(async (folder) => {
        const options = silenced(folder, RESOLVERS['of a pod'], NODE, { retries });
        const { status, output } = await runProgram(command.split(' '), { ...options, limit: LIMIT });
        expect([status, output]).toEqual([1, expect.stringContaining('no response within 1 s')]);
      }),
    );

    test.concurrent.each([false, true])('ctrl-C ends a command with status 130, also as PID 1: %s', (asFirst) =>
      inFolder(async (folder) => {
        // The command must still read when the signal comes.
        const options = silenced(folder, RESOLVERS['of a pod'], NODE, { asFirst, retries: 2 });
        const command = startProgram({ ...options, args: ['discover', '--log.level=debug'] });
        const kill = setTimeout(() => command.signal('SIGKILL'), LIMIT);
        await command.said(/no response within 1 s/);
        process.kill(asFirst ? await firstChild(command.pid) : command.pid, 'SIGINT');
        expect([await command.ended, command.output()]).toEqual([{ status: 130, signal: null }, command.output()]);
        clearTimeout(kill);
      }),
    );
  },
});
