import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { RateLimiter } from '../../../src/api/upstreamReader.ts';
import { UsageError } from '../../../src/cli/process.ts';
import { parseFault } from '../../../simulator/faults/faultRules.ts';
import { readDocument } from './readDocument.ts';
import { NOW, openSession, runOn } from './support.ts';
import { eventually } from '../../support/eventually.ts';
import { simulatorForFile } from '../../support/simulator.ts';

const simulator = await simulatorForFile({ now: () => NOW, applications: 3, hostsPerApplication: 1 });
let folder: string;
let output: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'backfill-'));
  output = join(folder, 'out.om');
});
afterEach(() => {
  simulator.faults.clear();
  vi.unstubAllEnvs();
  rmSync(folder, { recursive: true, force: true });
});

/**
 * A session that makes one call at a time, counts them, and is stopped when it wants to make the call of this number, once
 * what is waited for has happened.
 */
function countingSession(stopAt = Infinity, happened: () => Promise<void> = () => Promise.resolve()) {
  const controller = new AbortController();
  let calls = 0;
  let latest = Promise.resolve();
  const limiter: RateLimiter = {
    acquire: async () => {
      const before = latest;
      let release = (): void => undefined;
      latest = new Promise((resolve) => (release = resolve));
      await before;
      calls += 1;
      if (calls < stopAt) return release;
      await happened();
      controller.abort(new Error('stopped'));
      release();
      throw new Error('stopped');
    },
  };
  const session = openSession(simulator, { signal: controller.signal, limiter });
  return { session, calls: () => calls };
}

// Six hours, ten minutes and the minute before them: after the list, 3 calls for each application after its list of names.
const WISH = { from: '370m', window: 60_000, app: ['Storefront', 'Checkout API'] };
const CALLS = 1 + 2 * (1 + 3);
const uninterrupted = await runOn(openSession(simulator, {}, afterAll), WISH);

describe('an interrupted run', () => {
  // In the first application, in the second, and when all but the last call has been made.
  it.each([4, 7, CALLS])(
    'that stopped at call %i continues with --resume, reads nothing twice, and writes the same document',
    async (lastCall) => {
      const { document } = uninterrupted;
      const interrupted = countingSession(lastCall);
      await expect(runOn(interrupted.session, { ...WISH, output })).rejects.toThrow();
      expect(readdirSync(folder)).toEqual(['out.om.backfill']);

      const resumed = countingSession();
      await runOn(resumed.session, { ...WISH, output, resume: true });
      expect(resumed.calls()).toBe(CALLS - (lastCall - 1));
      expect(readFileSync(output, 'utf8')).toBe(document);
      expect(readdirSync(folder)).toEqual(['out.om']);
    },
  );

  it('that has finished an application does not read the application again, and counts it as done', async () => {
    const isFinished = (): Promise<void> =>
      eventually(() => {
        const files = readdirSync(`${output}.backfill`, { recursive: true }).map(String);
        expect(files.filter((file) => file.endsWith('finished.json'))).toHaveLength(1);
      });
    await expect(runOn(countingSession(CALLS, isFinished).session, { ...WISH, output })).rejects.toThrow();
    const resumed = countingSession();
    const { progress } = await runOn(resumed.session, { ...WISH, output, resume: true });
    expect(resumed.calls()).toBe(1);
    expect(progress).toEqual(uninterrupted.progress);
    expect(progress[0]).toBe(progress[1]);
    expect(readFileSync(output, 'utf8')).toBe(uninterrupted.document);
  });

  it('keeps its range, however much later it is resumed', async () => {
    await expect(runOn(countingSession(5).session, { ...WISH, output })).rejects.toThrow();
    const state: unknown = JSON.parse(readFileSync(`${output}.backfill/state.json`, 'utf8'));
    expect(state).toMatchObject({ range: { from: NOW / 1000 - 30 - 370 * 60, to: NOW / 1000 - 30 - 120 } });
  });

  it('says where it keeps the data read so far', async () => {
    const notes: string[] = [];
    await expect(runOn(countingSession(5).session, { ...WISH, output }, notes)).rejects.toThrow();
    expect(notes.at(-1)).toBe(`Kept the data in ${output}.backfill: the same command with --resume continues the run.`);
  });

  it.each<[string, Partial<Parameters<typeof runOn>[1]>]>([
    ['--from, --hosts', { from: '9h', hosts: true }],
    ['--to', { to: '1h' }],
    ['--window', { window: 120_000 }],
    ['--app', { app: ['Storefront'] }],
    ['--label', { label: { job: 'newrelic' } }],
  ])('is not resumed with other flags than it began with: %s', async (flags, changed) => {
    await expect(runOn(countingSession(5).session, { ...WISH, output })).rejects.toThrow();
    const other = { ...WISH, ...changed, output, resume: true };
    await expect(runOn(countingSession().session, other)).rejects.toThrow(`had other settings (${flags})`);
  });

  it.each<[string, (state: string) => string, string]>([
    ['a truncated file', (state) => state.slice(0, 40), '/state.json is damaged'],
    [
      'the folder of another version',
      (state) => state.replace('"version":"', '$&0.'),
      ' comes from another version of the program',
    ],
  ])('is not resumed from %s, and makes no call', async (_, change, problem) => {
    await expect(runOn(countingSession(5).session, { ...WISH, output })).rejects.toThrow();
    const file = `${output}.backfill/state.json`;
    writeFileSync(file, change(readFileSync(file, 'utf8')));
    const { session, calls } = countingSession();
    await expect(runOn(session, { ...WISH, output, resume: true })).rejects.toThrow(
      new UsageError(`${output}.backfill${problem}: start anew with --force`),
    );
    expect(calls()).toBe(0);
  });

  it.each(['', '/state.json.new', '/planted'])(
    'is not resumed where a symbolic link would redirect its writes: %s',
    async (name) => {
      await expect(runOn(countingSession(5).session, { ...WISH, output })).rejects.toThrow();
      const link = `${output}.backfill${name}`;
      const victim = `${folder}/victim`;
      if (name === '') renameSync(link, victim);
      else writeFileSync(victim, 'kept');
      symlinkSync(victim, link);
      const { session, calls } = countingSession();
      await expect(runOn(session, { ...WISH, output, resume: true })).rejects.toThrow(
        new UsageError(`${link} is a symbolic link, and no run creates links: start anew with --force`),
      );
      expect(calls()).toBe(0);
      await runOn(countingSession().session, { ...WISH, output, force: true });
      expect(existsSync(victim)).toBe(true);
    },
  );

  it('is neither overwritten nor mixed with a new run without --force', async () => {
    await expect(runOn(countingSession(5).session, { ...WISH, output })).rejects.toThrow();
    const { session, calls } = countingSession();
    await expect(runOn(session, { ...WISH, output })).rejects.toThrow(
      'continue with --resume, or start anew with --force',
    );
    expect(calls()).toBe(0);
    await runOn(session, { ...WISH, output, force: true });
    expect(calls()).toBe(CALLS);
    expect(readdirSync(folder)).toEqual(['out.om']);
  });

  it('leaves no files without --output', async () => {
    // A folder for temporary files of its own: other tests use the common one at the same time.
    vi.stubEnv('TMPDIR', folder);
    const modes: number[] = [];
    const look = (): Promise<void> => {
      modes.push(...readdirSync(folder).map((name) => statSync(join(folder, name)).mode & 0o777));
      return Promise.resolve();
    };
    await expect(runOn(countingSession(8, look).session, WISH)).rejects.toThrow();
    // No other user of the machine can read it meanwhile.
    expect(new Set(modes)).toEqual(new Set([0o700]));
    expect(readdirSync(folder)).toEqual([]);
  });
});

describe('the output', () => {
  it('that another program wrote during the run is not overwritten, and the run continues with --resume', async () => {
    const making: RateLimiter = {
      acquire: () => {
        writeFileSync(output, 'mine');
        return Promise.resolve(() => undefined);
      },
    };
    const session = openSession(simulator, { limiter: making });
    await expect(runOn(session, { ...WISH, output })).rejects.toThrow(`${output} would be replaced: give --force`);
    expect(readFileSync(output, 'utf8')).toBe('mine');
    rmSync(output);
    const resumed = countingSession();
    await runOn(resumed.session, { ...WISH, output, resume: true });
    expect(resumed.calls()).toBe(0);
    expect(readFileSync(output, 'utf8')).toBe(uninterrupted.document);
  });

  it('stays unchanged until the new document is complete, also with --force', async () => {
    writeFileSync(output, 'old');
    await expect(runOn(countingSession(9).session, { ...WISH, output, force: true })).rejects.toThrow();
    expect(readFileSync(output, 'utf8')).toBe('old');
    await runOn(countingSession().session, { ...WISH, output, force: true, resume: true });
    expect(readDocument(readFileSync(output, 'utf8')).size).toBeGreaterThan(40);
  });

  it.each([
    [{ resume: true }, '--resume needs the --output'],
    [{ resume: true, output: '/nowhere/out.om' }, 'there is no run to resume'],
  ])('refuses %j', async (flags, message) => {
    await expect(runOn(countingSession().session, { ...WISH, ...flags })).rejects.toThrow(message);
  });
});

describe('an application that cannot be read', () => {
  it('ends the run with an error that names it, and the data read so far stays for --resume', async () => {
    const { id } = simulator.world.applications()[1]!;
    simulator.faults.add(parseFault(`status=404,on=metric_data,app=${id}`));
    await expect(runOn(countingSession().session, { ...WISH, output })).rejects.toThrow(
      `account main: application Checkout API (${id})`,
    );
    expect(existsSync(output)).toBe(false);
    simulator.faults.clear();
    const { session, calls } = countingSession();
    await runOn(session, { ...WISH, output, resume: true });
    expect(calls()).toBeLessThan(CALLS - 2);
    expect(readFileSync(output, 'utf8')).toBe(uninterrupted.document);
  });
});
