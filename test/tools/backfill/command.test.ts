import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CommanderError } from 'commander';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { backfillCommand } from '../../../src/tools/commands.ts';
import { DEMO_API_KEY } from '../../../src/simulator/simulatorSettings.ts';
import { startSimulator, type Simulator } from '../../../src/simulator/simulator.ts';
import { readDocument } from './readDocument.ts';

let simulator: Simulator;
let folder: string;
let configFile: string;

beforeAll(async () => {
  simulator = await startSimulator({ applications: 2 });
  folder = mkdtempSync(join(tmpdir(), 'backfill-'));
  configFile = join(folder, 'config.yaml');
  writeFileSync(configFile, `accounts:\n  - api: rest\n    base_url: ${simulator.url}\n    api_key: ${DEMO_API_KEY}\n`);
});
afterAll(async () => {
  await simulator.close();
  rmSync(folder, { recursive: true, force: true });
});

async function run(...args: readonly string[]): Promise<{ readonly error: unknown; readonly said: string }> {
  let said = '';
  const add = (text: string): boolean => {
    said += text;
    return true;
  };
  const stderr = vi.spyOn(process.stderr, 'write').mockImplementation((text) => add(String(text)));
  const command = backfillCommand().exitOverride().configureOutput({ writeErr: add, writeOut: add });
  try {
    await command.parseAsync([...args, `--config.file=${configFile}`], { from: 'user' });
    return { error: undefined, said };
  } catch (error) {
    return { error, said };
  } finally {
    stderr.mockRestore();
    // A command listens to its output until its process ends, and this one continues.
    process.stdout.removeAllListeners('error');
  }
}

describe('the command backfill', () => {
  it('writes a document of the past minutes to the output, and says what it does on standard error', async () => {
    const output = join(folder, 'out.om');
    const { error, said } = await run('--from=-10m', '--window=1m', '--label=job=newrelic', `--output=${output}`);
    expect(error).toBeUndefined();
    expect(said).toMatch(/^Applications: 2; from .*Z to .*Z; a sample per minute; windows of 1m\.$/m);
    const samples = readFileSync(output, 'utf8').match(/^newrelic_/gm)?.length;
    expect(said).toMatch(
      new RegExp(`^${output} is written: ${samples} samples of \\d+ series\\. Next: promtool .* ${output}\\n$`, 'm'),
    );
    const series = readDocument(readFileSync(output, 'utf8'));
    expect(series.size).toBeGreaterThan(40);
    for (const key of series.keys()) expect(key).toContain('job="newrelic"');
  });

  it.each([
    ['config.yaml', '--output: FOLDER/config.yaml would be replaced: give --force, or choose another name'],
    ['nowhere/out.om', '--output: there is no folder FOLDER/nowhere: make it, or choose another name'],
    ['nowhere/', '--output: the name of a file is missing behind the folder'],
    ['.', '--output: FOLDER cannot be replaced: a folder has that name. Choose another'],
  ])('ends with status 2 and a sentence for the output %s, before it reads anything', async (name, sentence) => {
    const before = [simulator.requests.count(), readFileSync(configFile, 'utf8')];
    const { error, said } = await run('--from=10m', `--output=${join(folder, name)}`);
    expect(error).toMatchObject({ status: 2 });
    expect(said).toBe(`error: ${sentence.replace('FOLDER', folder)}\n`);
    expect([simulator.requests.count(), readFileSync(configFile, 'utf8')]).toEqual(before);
  });

  it('ends with status 2 where the folder of the output cannot be written, as not even root can write this one', async () => {
    const { error, said } = await run('--from=10m', '--output=/proc/sys/out.om');
    expect(error).toMatchObject({ status: 2 });
    expect(said).toContain('/proc/sys cannot be written');
  });

  it('ends with status 1, a sentence and a hint when the key is refused', async () => {
    simulator.faults.add({ effect: 'invalid-key' });
    const { error, said } = await run('--from=10m');
    simulator.faults.clear();
    expect(error).toMatchObject({ status: 1 });
    expect(said.trim().split('\n')).toEqual([
      expect.stringMatching(/^error: account default: the application list cannot be read: .*401/),
      expect.stringMatching(/^hint: the key must be a user key/),
    ]);
    expect(said).not.toContain(DEMO_API_KEY);
  });

  it.each([
    [['--from=yesterday'], 'such as 2026-11-20T08:00:00Z'],
    [['--from=1h', '--window=90s'], 'whole minutes'],
    [['--from=1h', '--window=0s'], 'whole minutes'],
    [['--from=1h', '--window=soon'], 'whole minutes'],
    [['--from=1h', '--label=app=x'], 'label of our own'],
  ])('refuses %j', async (args, message) => {
    const { error, said } = await run(...args);
    expect(error).toBeInstanceOf(CommanderError);
    expect(said).toContain(message);
  });
});
