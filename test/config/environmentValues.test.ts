import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { escapePlaceholders, expandPlaceholders } from '../../src/config/yaml/placeholders.ts';
import { configOf, faultsOf } from './reading.ts';

const ENV = { A: 'one', EMPTY: '', N: '42', LIST: '[1, 2]', DOLLAR: '${A}', _x9: 'ok' };

describe('placeholders', () => {
  it.each([
    ['nothing here', 'nothing here'],
    ['${A}', 'one'],
    ['a${A}b${N}c', 'aoneb42c'],
    ['${_x9}', 'ok'],
    ['${EMPTY}', ''],
    ['${NONE:-default}', 'default'],
    ['${EMPTY:-default}', 'default'],
    ['${A:-default}', 'one'],
    ['${NONE:-}', ''],
    ['${NONE:-a:-b$c {d}', 'a:-b$c {d'],
    ['$${A}', '${A}'],
    ['$$${A}', '$${A}'],
    ['$A $ $$ {A}', '$A $ $$ {A}'],
    ['${DOLLAR}', '${A}'],
    ['$${', '${'],
  ])('expand %j to %j', (text, expanded) => {
    expect(expandPlaceholders(text, ENV)).toBe(expanded);
  });

  it.each(['${', '${}', '${A', '${1A}', '${A-b}', '${A:b}', '${ A }', '${A.b}'])(
    'are refused when incomplete: %j',
    (text) => {
      expect(expandPlaceholders(text, ENV)).toEqual({
        problem: '"${" must begin ${NAME} or ${NAME:-default}: complete it, or write "$${" for a literal "${"',
      });
    },
  );

  it.each(['${A:-${B}}', '${A:-x${B}}', '${NONE:-$${A}}', 'a${A:-${B:-c}}'])('are refused in a default: %j', (text) => {
    expect(expandPlaceholders(text, ENV)).toEqual({
      problem: 'a default cannot hold another "${": give ${NAME:-default} a default of plain text',
    });
  });

  it('do not show a name that may be a key in a fault', () => {
    expect(expandPlaceholders('${a1b2c3d4e5f60718293a4b5c6d7e8f90}', ENV)).toEqual({
      problem: 'the environment variable of this name is not set: write the name of a variable between "${" and "}"',
    });
  });

  it.each(['NONE', 'toString', '__proto__', 'constructor'])('are refused for %s, which is not set', (name) => {
    expect(expandPlaceholders(`\${${name}}`, ENV)).toEqual({
      problem: `the environment variable ${name} is not set: set it, or write \${${name}:-default}`,
    });
  });

  it('leave any escaped text unchanged', () => {
    const text = fc.string({ unit: fc.constantFrom('$', '{', '}', 'A', ':', '-', ' ') });
    fc.assert(
      fc.property(text, (value) => {
        expect(expandPlaceholders(escapePlaceholders(value), {})).toBe(value);
      }),
    );
  });
});

const HEAD = 'accounts:\n  - api_key: abcd\n';

describe('a value from the environment', () => {
  it('gets its type after the replacement if it is not quoted', () => {
    const text = `${HEAD}    hosts: \${H}\n    limits:\n      requests_per_minute: \${RPM:-300}\n      max_retries: \${R} # why\ncollection:\n  window: \${W}m\n`;
    const { accounts, collection } = configOf(text, { H: 'false', R: '0x3', W: '5' });
    expect(accounts[0]).toMatchObject({ hosts: false, limits: { requests_per_minute: 300, max_retries: 3 } });
    expect(collection.window).toBe(300_000);
  });

  it('stays text if it is quoted', () => {
    expect(faultsOf(`${HEAD}    limits:\n      max_retries: "\${R}"\n`, { R: '1' })).toEqual([
      'c.yaml:4:20: accounts[0].limits.max_retries: expected a number, not text (remove the quotes)',
    ]);
  });

  it.each(['12345678', '1e5', 'true', 'null', '0x10', '.inf'])(
    'becomes text where text is expected, also when it is %s',
    (value) => {
      const text = 'accounts:\n  - name: ${V}\n    api_key: abcd\n    labels:\n      team: ${V}\n';
      expect(configOf(text, { V: value }).accounts[0]).toMatchObject({ name: value, labels: { team: value } });
    },
  );

  it.each(['{a: 1}', '[1]', 'x\n    hosts: false', '&a b', '*a', '!t x', '"q', '# no', 'a: b', '- a'])(
    'never becomes structure: %j',
    (value) => {
      const text = 'accounts:\n  - api_key: abcd\n    labels:\n      team: ${V}\n      other: "${V}"\n';
      const { labels, hosts } = configOf(text, { V: value }).accounts[0]!;
      expect({ labels, hosts }).toEqual({ labels: { team: value, other: value }, hosts: true });
    },
  );

  it('is not inserted into keys', () => {
    expect(faultsOf(`${HEAD}    labels:\n      "\${V}": x\n`, { V: 'team' })).toEqual([
      'c.yaml:4:7: accounts[0].labels["${V}"]: is not a label name: use letters, digits and _, no digit first',
    ]);
  });

  it('counts as empty, not as missing, if it is empty', () => {
    expect(faultsOf('accounts:\n  - api_key: ${K}\n    hosts: ${B}\n', { K: '', B: '' })).toEqual([
      'c.yaml:2:14: accounts[0].api_key: must not be empty',
      'c.yaml:3:12: accounts[0].hosts: is empty, expected true or false: give it a value or remove the key',
    ]);
  });
});
