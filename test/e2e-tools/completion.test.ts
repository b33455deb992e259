import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { runProgram } from '../e2e/support/program.ts';

const folder = mkdtempSync(join(tmpdir(), 'completion-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
mkdirSync(join(folder, 'conf files'));
writeFileSync(join(folder, 'config.yaml'), '');

const { stdout: script } = await runProgram(['completion', 'bash']);
writeFileSync(join(folder, 'completion.bash'), script);

/** What bash offers for the last word of a line. Bash splits words at "=", unless it is told not to. */
function completed(line: string, splitsAt = /(=)| /): readonly string[] {
  const words: (string | undefined)[] = line.split(splitsAt);
  // Splitting at a group leaves undefined where the group did not match, and empty texts between two matches.
  const last = words.length - 1;
  const given = words.flatMap((word, index) => (word === undefined || (word === '' && index < last) ? [] : [word]));
  const run = `source ./completion.bash; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
    _newrelic_apm_exporter; printf '%s\\n' "\${COMPREPLY[@]}"`;
  const output = execFileSync('bash', ['--norc', '-c', run, 'bash', ...given], { cwd: folder, encoding: 'utf8' });
  return output.split('\n').filter((reply) => reply !== '');
}

describe('completion bash', () => {
  test('completes commands', () => {
    expect(completed('newrelic-apm-exporter pl')).toEqual(['plan']);
    expect(completed('newrelic-apm-exporter ')).toEqual(expect.arrayContaining(['serve', 'discover', '--config.file']));
    expect(completed('newrelic-apm-exporter completion z')).toEqual(['zsh']);
  });

  test('completes the flags of the command, and without one those of serve', () => {
    expect(completed('newrelic-apm-exporter check --l')).toEqual(['--log.level', '--log.format', '--live']);
    expect(completed('newrelic-apm-exporter --log.level=debug plan --web')).toEqual([]);
    expect(completed('newrelic-apm-exporter --web.max')).toEqual(['--web.max-requests']);
  });

  test('completes the values of flags that have a choice', () => {
    expect(completed('newrelic-apm-exporter plan --format=')).toEqual(['table', 'json']);
    expect(completed('newrelic-apm-exporter discover --format=y')).toEqual(['yaml']);
    expect(completed('newrelic-apm-exporter discover --format j')).toEqual(['json']);
    expect(completed('newrelic-apm-exporter --log.level w')).toEqual(['warn']);
    expect(completed('newrelic-apm-exporter plan --format=j', / /)).toEqual(['--format=json']);
  });

  test('completes files for flags that name one, and nothing for other values', () => {
    expect(completed('newrelic-apm-exporter check --config.file=con').toSorted()).toEqual([
      'conf files',
      'config.yaml',
    ]);
    expect(completed('newrelic-apm-exporter backfill --output config')).toEqual(['config.yaml']);
    expect(completed('newrelic-apm-exporter --web.telemetry-path=')).toEqual([]);
  });
});

/** Runs a shell, if it is installed; undefined otherwise. */
function shell(name: string, ...args: readonly string[]): string | undefined {
  try {
    return execFileSync(name, args, { cwd: folder, encoding: 'utf8' });
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  }
}

test('completion zsh is a script that zsh reads, with every flag of a command', async () => {
  const { stdout } = await runProgram(['completion', 'zsh']);
  writeFileSync(join(folder, 'completion.zsh'), stdout);
  expect(shell('zsh', '-n', 'completion.zsh') ?? '').toBe('');
  expect(stdout).toContain("'--format=[how the result is written]:format:(table json)'");
  expect(stdout).toMatch(/'--config\.file=\[configuration file [^\]]*\]:config\.file:_files'/);
});

test('completion fish is a script by which fish completes', async () => {
  const { stdout } = await runProgram(['completion', 'fish']);
  writeFileSync(join(folder, 'completion.fish'), stdout);
  const run = 'source completion.fish; complete -C "newrelic-apm-exporter plan --format "';
  expect(shell('fish', '-c', run) ?? 'json table').toMatch(/json[^]*table/);
  expect(stdout).toContain(
    "-n '__fish_seen_subcommand_from plan' -l format -x -a 'table json' -d 'how the result is written'",
  );
});

test('completion refuses a shell that it does not know', async () => {
  expect(await runProgram(['completion', 'tcsh'])).toMatchObject({ status: 2, stdout: '' });
});
