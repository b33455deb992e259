import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import { normalizeArguments, buildProgram, runProgram } from '../../src/cli/program.ts';

const { commands } = buildProgram();
const normalize = (...args: string[]): readonly string[] => normalizeArguments(args, commands);

describe('the arguments of the program', () => {
  it.each([
    ['--log.level=debug check', 'check --log.level=debug'],
    ['--log.level debug check --live', 'check --log.level debug --live'],
    ['--config.file plan discover', 'discover --config.file plan'],
    ['--web.enable-lifecycle serve', 'serve --web.enable-lifecycle'],
    ['plan --config.file=x', 'plan --config.file=x'],
    ['--log.level=debug', '--log.level=debug'],
    ['--config.file check', '--config.file check'],
    ['--log.level=debug nope', '--log.level=debug nope'],
    ['--nope=1 plan', 'plan --nope'],
    ['--api-key=NRAK-SECRET', '--api-key'],
    ['--api-key=NRAK-SECRET plan', 'plan --api-key'],
    ['--api-key=NRAK-SIMULATED simulate', 'simulate --api-key=NRAK-SIMULATED'],
    ['discover --config.file --odd=name', 'discover --config.file --odd=name'],
    ['-- --nope=1 check', '-- --nope=1 check'],
    ['', ''],
  ])('"%s" become "%s"', (args, expected) => {
    expect(normalize(...args.split(' ')).join(' ')).toBe(expected);
  });

  it('keep every word that is not the value of an unknown flag', () => {
    const word = fc.constantFrom('check', 'plan', 'x', '--log.level', '--log.level=debug', '--live', '--', '-h', '');
    fc.assert(
      fc.property(fc.array(word), (args) => {
        expect(normalize(...args).toSorted()).toEqual(args.toSorted());
      }),
    );
  });
});

describe('a misspelt flag in the place of a required one', () => {
  it.each([
    [['metric-names', '--ap=1'], `unknown option '--ap'; did you mean "--app"?`],
    [['backfill', '--fro', '7d'], `unknown option '--fro'; did you mean "--from"?`],
    [['metric-names', '--api-key=NRAK-SECRET'], `unknown option '--api-key'`],
    [['metric-names'], `required option '--app <id or name>' not specified`],
  ])('%j is told with the nearest one, without its value, and ends with 2', async (args, words) => {
    let said = '';
    const stderr = vi.spyOn(process.stderr, 'write').mockImplementation((text) => {
      said += String(text);
      return true;
    });
    try {
      expect(await runProgram(buildProgram(), args)).toBe(2);
    } finally {
      stderr.mockRestore();
      // The program listens to its output until its process ends, and this one goes on.
      for (const stream of [process.stdout, process.stderr]) stream.removeAllListeners('error');
    }
    expect(said).toContain(`error: ${words}`);
    expect(said).not.toContain('NRAK-SECRET');
  });
});
