import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { loadConfig } from '../../src/config/load.ts';
import { faultsOf } from './reading.ts';

/** The number of inputs for each of four properties; `FUZZ_SEED` replays a run. */
const FUZZ = { numRuns: 200, seed: Number(process.env['FUZZ_SEED'] ?? Math.floor(Math.random() * 2 ** 31)) };
process.stderr.write(`configuration fuzz: ${4 * FUZZ.numRuns} inputs, FUZZ_SEED=${FUZZ.seed}\n`);

const SECRET = 'NRAK-S3CR3T';
const FILE = `accounts:
  - name: a
    api_key: ${SECRET}
    labels: {team: x}
`;

const PIECES = [
  ...'accounts api_key collection limits window x 30m 5 true ~ .nan ${A} ${ << __proto__'.split(' '),
  ...': ,:, ,\n,\n  ,\n    - ,- ,[,],{,},",\',&a ,*a,!t ,!!int ,|\n,>,#,%YAML 1.1\n,---\n,...\n,? ,\t,\r\n'.split(','),
  ...[', ', '\\u0000', '\u0000', '\uFEFF', '\u2028', '😀'],
];

function loads(text: string): void {
  const result = loadConfig({ path: 'c.yaml', text }, { A: 'b: c' });
  if ('diagnostics' in result) {
    expect(result.diagnostics.length).toBeGreaterThan(0);
    for (const { line, column, message } of result.diagnostics) {
      expect(line).toBeGreaterThan(0);
      expect(column).toBeGreaterThan(0);
      expect(message).not.toBe('');
    }
  } else {
    expect(result.config.accounts.length).toBeGreaterThan(0);
  }
}

describe('any text', () => {
  it.each([
    ['of any characters', fc.string({ unit: 'binary', maxLength: 200 })],
    ['of pieces of YAML', fc.array(fc.constantFrom(...PIECES), { maxLength: 60 }).map((pieces) => pieces.join(''))],
    ['that was a valid file before one change of one character', changed()],
  ])('%s is a configuration or has a fault, and loading never throws', (_, text) => {
    fc.assert(fc.property(text, loads), FUZZ);
  });
});

describe('a secret', () => {
  it('is not shown in the faults of a file after a change of one character', () => {
    fc.assert(
      fc.property(changed(), (text) => {
        expect(faultsOf(text).join('\n')).not.toContain('S3CR3T');
      }),
      FUZZ,
    );
  });
});

/** The valid file with one character removed, inserted or replaced. */
function changed(): fc.Arbitrary<string> {
  const character = fc.constantFrom(...' \t\n:#-?,[]{}&*!|>\'"%@`$\\aZ0~=.\u00e9'.split(''), '');
  return fc
    .tuple(fc.nat(FILE.length), fc.constantFrom(0, 1), character)
    .map(([index, removed, inserted]) => FILE.slice(0, index) + inserted + FILE.slice(index + removed));
}
