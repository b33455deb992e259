import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { normalizeArguments, buildProgram } from '../../src/cli/program.ts';
import { toolCommands } from '../../src/tools/commands.ts';

const { commands } = buildProgram(toolCommands());
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

  it('keep every word except the value of an unknown flag', () => {
    const word = fc.constantFrom('check', 'plan', 'x', '--log.level', '--log.level=debug', '--live', '--', '-h', '');
    fc.assert(
      fc.property(fc.array(word), (args) => {
        expect(normalize(...args).toSorted()).toEqual(args.toSorted());
      }),
    );
  });
});
