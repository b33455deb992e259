import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { describeReal, type RealProgram } from '../real/support/realPrograms.ts';
import { runInProcess } from '../support/inProcess.ts';

const folder = mkdtempSync(join(tmpdir(), 'completion-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
mkdirSync(join(folder, 'conf files'));
writeFileSync(join(folder, 'config.yaml'), '');

for (const name of ['bash', 'zsh', 'fish']) {
  writeFileSync(join(folder, `completion.${name}`), (await runInProcess(['completion', name])).stdout);
}

/** What bash offers for the last word of a line. Bash splits words at "=", unless it is told not to. */
function completed(line: string, splitsAt = /(=)| /): readonly string[] {
  const words: (string | undefined)[] = line.split(splitsAt);
  // Splitting at a group leaves undefined where the group did not match, and empty texts between two matches.
  const last = words.length - 1;
  const passed = words.flatMap((word, index) => (word === undefined || (word === '' && index < last) ? [] : [word]));
  const run = `source ./completion.bash; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
    _newrelic_apm_exporter; printf '%s\\n' "\${COMPREPLY[@]}"`;
  const output = execFileSync('bash', ['--norc', '-c', run, 'bash', ...passed], { cwd: folder, encoding: 'utf8' });
  return output.split('\n').filter((reply) => reply !== '');
}

describe('completion bash', () => {
  test.each<[string, ...string[]]>([
    ['pl', 'plan'],
    ['completion z', 'zsh'],
    ['check --l', '--log.level', '--log.format', '--live'],
    ['--log.level=debug plan --web'],
    ['--web.max', '--web.max-requests'],
    ['plan --format=', 'table', 'json'],
    ['discover --format=y', 'yaml'],
    ['discover --format j', 'json'],
    ['--log.level w', 'warn'],
    ['check --config.file=con', 'conf files', 'config.yaml'],
    ['backfill --output config', 'config.yaml'],
    ['--web.telemetry-path='],
  ])('offers commands, flags of the command or of serve, choices and files: "%s"', (line, ...replies) => {
    expect(completed(`newrelic-apm-exporter ${line}`).toSorted()).toEqual(replies.toSorted());
  });

  test('offers commands besides the flags of serve, and a flag with its value where "=" does not split words', () => {
    expect(completed('newrelic-apm-exporter ')).toEqual(expect.arrayContaining(['serve', 'discover', '--config.file']));
    expect(completed('newrelic-apm-exporter plan --format=j', / /)).toEqual(['--format=json']);
  });
});

/** The root of the packages that a shell was unpacked from; undefined for an installed one. */
function rootOf({ path }: RealProgram): string | undefined {
  return /^(.*\/real-programs\/shells)\//.exec(path)?.[1];
}

/** Runs an unpacked or installed shell on a script for it. */
function runShell({ command: [file, ...before] }: RealProgram, ...args: readonly string[]): string {
  const env = { PATH: process.env['PATH'], HOME: folder };
  return execFileSync(file, [...before, ...args], { cwd: folder, encoding: 'utf8', env, timeout: 60_000 });
}

/** Types a line and a tab into a zsh of its own, and prints what it shows until the word is there. */
const TYPE_INTO_ZSH = `
zmodload zsh/zpty
zpty shell "$4 -f -i"
zpty -w shell "$3 autoload -Uz compinit; compinit -u -D; source completion.zsh; bindkey '^I' complete-word; print rea""dy"
zpty -r shell out '*ready*'
zpty -w -n shell "$1"$'\t'
zpty -r shell out "*$2*" && print -r -- "$out"`;

await describeReal('completion', {
  tools: ['zsh', 'fish'],
  define: (program) => {
    test('completion zsh prints a script that works in zsh', () => {
      const zsh = program('zsh');
      const root = rootOf(zsh);
      // An unpacked shell looks for its parts where they would be installed.
      const modules = root === undefined ? '' : `module_path=(${root}/usr/lib/*/zsh/*(/));`;
      const functions = root === undefined ? '' : `fpath=(${root}/usr/share/zsh/functions/**/*(/));`;
      const type = (line: string, word: string) =>
        runShell(zsh, '-f', '-c', modules + TYPE_INTO_ZSH, 'zsh', line, word, modules + functions, zsh.path);
      expect(runShell(zsh, '-n', 'completion.zsh')).toBe('');
      expect(type('newrelic-apm-exporter plan --format=j', 'json')).toContain('--format=json');
      expect(type('newrelic-apm-exporter check --config.file=conf', 'config.yaml')).toContain('config.yaml');
      expect(type('newrelic-apm-exporter disc', 'discover')).toContain('discover');
    });

    test('completion fish prints a script that works in fish', () => {
      const fish = program('fish');
      const functions = join(rootOf(fish) ?? '/', 'usr/share/fish/functions');
      const complete = (line: string) =>
        runShell(fish, '-c', `set -p fish_function_path ${functions}; source completion.fish; complete -C "${line}"`);
      expect(runShell(fish, '-n', 'completion.fish')).toBe('');
      expect(complete('newrelic-apm-exporter plan --format ')).toMatch(/^json\t.*\ntable\t/);
      expect(complete('newrelic-apm-exporter check --config.file config')).toContain('config.yaml');
      expect(complete('newrelic-apm-exporter disc')).toMatch(/^discover\t/);
    });
  },
});

test('completion rejects an unknown shell', async () => {
  expect(await runInProcess(['completion', 'tcsh'])).toMatchObject({ status: 2, stdout: '' });
});
