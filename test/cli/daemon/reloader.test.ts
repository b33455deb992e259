import { describe, expect, it } from 'vitest';
import { createReloader, type ReloaderOptions } from '../../../src/cli/serve.ts';
import type { Config } from '../../../src/config/config.ts';
import { loadConfig } from '../../../src/config/load.ts';
import { createLogger } from '../../../src/log/logger.ts';
import { Secrets } from '../../../src/log/secrets.ts';
import { eventually } from '../../support/eventually.ts';

const KEY = 'NRAK-RELOADERSECRET';

function configOf(name: string): Config {
  const loaded = loadConfig({ path: 'c', text: JSON.stringify({ accounts: [{ name, api_key: KEY }] }) }, {});
  if ('diagnostics' in loaded) throw new Error('the configuration of this test is invalid');
  return loaded.config;
}

/** The result of reading a valid file. */
const readAs = (name: string) => Promise.resolve({ config: configOf(name), warnings: [] });

/** A reloader with the applied accounts, the reported ends and the logged lines. */
function recording(options: Partial<ReloaderOptions>) {
  const done = { applied: [] as string[], ended: [] as boolean[], log: '' };
  const secrets = new Secrets();
  secrets.add(KEY);
  const destination = { write: (line: string): void => void (done.log += line) };
  const reload = createReloader({
    read: () => readAs('new'),
    apply: (config) => void done.applied.push(...config.accounts.map(({ name }) => name)),
    ended: (diagnostics) => void done.ended.push(diagnostics === undefined),
    logger: createLogger({ level: 'info', format: 'logfmt', destination, secrets }),
    stopping: () => false,
    mask: (text) => secrets.mask(text),
    ...options,
  });
  return { reload, done };
}

describe('a reload', () => {
  it('applies a valid file and logs its warnings', async () => {
    const warning = { file: 'c', line: 1, column: 2, path: 'accounts[0].limits', message: 'is short' };
    const { reload, done } = recording({ read: async () => ({ ...(await readAs('new')), warnings: [warning] }) });
    expect(await reload('SIGHUP')).toEqual([]);
    expect(done).toMatchObject({ applied: ['new'], ended: [true] });
    expect(done.log).toMatch(/level=warn msg="c:1:2: accounts\[0\]\.limits: is short"[^]*msg="Configuration reloaded"/);
  });

  it('with faults changes nothing and returns the faults', async () => {
    const fault = { file: 'c', line: 1, column: 2, path: 'x', message: 'is not known' };
    const { reload, done } = recording({ read: () => Promise.resolve({ diagnostics: [fault] }) });
    expect(await reload('SIGHUP')).toEqual(['c:1:2: x: is not known']);
    expect(done).toMatchObject({ applied: [], ended: [false] });
    expect(done.log).toMatch(
      /level=error msg="c:1:2: x: is not known"\n.*level=error msg=".*" trigger=SIGHUP faults=1\n$/,
    );
  });

  it.each<[string, Partial<ReloaderOptions>]>([
    ['the file cannot be read', { read: () => Promise.reject(new Error(`no memory for ${KEY}`)) }],
    [
      'a part cannot be built',
      {
        apply: () => {
          throw new Error(`no memory for ${KEY}`);
        },
      },
    ],
  ])('fails without rejecting when %s, and the next reload works', async (_, broken) => {
    const { reload, done } = recording(broken);
    expect(await reload('SIGHUP')).toEqual(['no memory for <secret>']);
    expect(done).toMatchObject({ applied: [], ended: [false] });
    expect(done.log).toMatch(/level=error msg="Cannot apply the configuration: keeping the running one".*\\n {4}at /);
    expect(done.log).not.toContain(KEY);
    expect(await reload('/-/reload')).toHaveLength(1);
  });

  it('is not applied when the exporter stops during the read, because its readers would stay open', async () => {
    let stopping = false;
    const { reload, done } = recording({
      read: () => {
        stopping = true;
        return readAs('new');
      },
      stopping: () => stopping,
    });
    expect(await reload('SIGHUP')).toEqual(['the exporter is stopping']);
    expect(done).toEqual({ applied: [], ended: [], log: '' });
  });

  it('is shared by many requests that come one after the other', async () => {
    let reads = 0;
    const { reload } = recording({
      read: () => {
        reads += 1;
        return readAs('main');
      },
    });
    const asked: Promise<unknown>[] = [];
    for (let count = 0; count < 1_000; count += 1) {
      asked.push(reload('/-/reload'));
      await Promise.resolve();
    }
    await Promise.all(asked);
    expect(reads).toBe(2);
  });

  it('that runs answers no later request: all later requests share one more reload', async () => {
    const reads: ((name: string) => void)[] = [];
    const { reload, done } = recording({
      read: () => new Promise((read) => reads.push((name) => read(readAs(name)))),
    });
    const first = reload('SIGHUP');
    await eventually(() => expect(reads).toHaveLength(1));
    const later = Array.from({ length: 1_000 }, (_, n) => reload(n % 2 === 0 ? 'SIGHUP' : '/-/reload'));
    reads[0]?.('older');
    expect(await first).toEqual([]);
    await eventually(() => expect(reads).toHaveLength(2));
    const last = reload('SIGHUP');
    reads[1]?.('newer');
    await Promise.all(later);
    expect(done.applied).toEqual(['older', 'newer']);
    await eventually(() => expect(reads).toHaveLength(3));
    reads[2]?.('newest');
    await last;
    expect([reads.length, done.applied]).toEqual([3, ['older', 'newer', 'newest']]);
  });
});
