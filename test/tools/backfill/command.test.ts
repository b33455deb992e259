import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { DEMO_API_KEY } from '../../../simulator/simulatorSettings.ts';
import { runInProcess } from '../../support/inProcess.ts';
import { simulatorForFile } from '../../support/simulator.ts';
import { readDocument } from './readDocument.ts';

const simulator = await simulatorForFile({ applications: 2 });
const folder = mkdtempSync(join(tmpdir(), 'backfill-'));
const configFile = join(folder, 'config.yaml');
writeFileSync(configFile, `accounts: [{api: rest, base_url: "${simulator.url}", api_key: ${DEMO_API_KEY}}]\n`);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const run = (...args: readonly string[]) => runInProcess(['backfill', ...args, `--config.file=${configFile}`]);

describe('the command backfill', () => {
  it('writes a document of the past minutes to the output, and its progress to standard error', async () => {
    const output = join(folder, 'out.om');
    const { status, stderr } = await run('--from=-10m', '--window=1m', '--label=job=newrelic', `--output=${output}`);
    expect(status).toBe(0);
    expect(stderr).toMatch(/^Applications: 2; from .*Z to .*Z; a sample per minute; windows of 1m\.$/m);
    const samples = readFileSync(output, 'utf8').match(/^newrelic_/gm)?.length;
    expect(stderr).toMatch(
      new RegExp(`^Wrote ${output}: ${samples} samples of \\d+ series\\. Next: promtool .* ${output}\\n$`, 'm'),
    );
    const series = readDocument(readFileSync(output, 'utf8'));
    expect(series.size).toBeGreaterThan(40);
    for (const key of series.keys()) expect(key).toContain('job="newrelic"');
  });

  it.each([
    ['config.yaml', '--output: FOLDER/config.yaml would be replaced: give --force, or choose another name'],
    ['nowhere/out.om', '--output: there is no folder FOLDER/nowhere: make it, or choose another name'],
    ['nowhere/', '--output: FOLDER/nowhere/ is a folder, not a file: choose another name'],
    ['.', '--output: FOLDER is a folder, not a file: choose another name'],
  ])('ends with status 2 and a sentence for the output %s, before its first call', async (name, sentence) => {
    const before = [simulator.requests.count(), readFileSync(configFile, 'utf8')];
    const { status, stderr } = await run('--from=10m', `--output=${join(folder, name)}`);
    expect(status).toBe(2);
    expect(stderr).toBe(`error: ${sentence.replace('FOLDER', folder)}\n`);
    expect([simulator.requests.count(), readFileSync(configFile, 'utf8')]).toEqual(before);
  });

  it('ends with status 2 where the folder of the output cannot be written, not even by root', async () => {
    const { status, stderr } = await run('--from=10m', '--output=/proc/sys/out.om');
    expect(status).toBe(2);
    expect(stderr).toContain('/proc/sys cannot be written');
  });

  it.each([
    [['--from=yesterday'], 'such as 2026-11-20T08:00:00Z'],
    [['--from=1h', '--window=90s'], 'whole minutes'],
    [['--from=1h', '--window=0s'], 'whole minutes'],
    [['--from=1h', '--window=soon'], 'whole minutes'],
    [['--from=1h', '--label=app=x'], 'The exporter itself sets the label "app"'],
  ])('refuses %j', async (args, message) => {
    const { status, stderr } = await run(...args);
    expect(status).toBe(2);
    expect(stderr).toContain(message);
  });
});
