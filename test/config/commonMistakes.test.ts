import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { temporaryFolders } from './folder.ts';
import { faultsOf } from './reading.ts';

const folder = temporaryFolders();

const account = (...lines: readonly string[]): string =>
  ['accounts:', '  - api_key: abcd', ...lines.map((line) => `    ${line}`), ''].join('\n');

const QUOTES =
  'a value that begins with * needs quotes, else it is an alias of YAML: no anchor of this name stands before';
const INDENT = 'the indentation does not fit what stands around it';

describe('a common mistake is answered with what to write', () => {
  it.each<readonly [string, string, ...string[]]>([
    [
      'a glob without quotes',
      account('applications:', '  include:', '    - name: *checkout'),
      `c.yaml:5:17: accounts[0].applications.include[0].name: ${QUOTES}`,
    ],
    [
      'names and ids in place of mappings',
      account('applications:', '  include: [checkout, 12]'),
      'c.yaml:4:17: accounts[0].applications.include[0]: expected a mapping, not text: write {name: ...} around it',
      'c.yaml:4:27: accounts[0].applications.include[1]: expected a mapping, not a number: write {id: ...} around it',
    ],
    [
      'a key that is indented too little in a list',
      'accounts:\n  - name: a\n   api_key: abcd\n',
      `c.yaml:3:1: ${INDENT}, or a colon, comma or bracket is missing before it`,
    ],
    [
      'a key that is indented too little in a mapping',
      account('limits:', '  max_retries: 3', ' request_timeout: 5s'),
      `c.yaml:5:1: ${INDENT}`,
    ],
    [
      'a key that is indented too far',
      account('name: a', ' region: us'),
      'c.yaml:3:11: a mapping cannot begin here: look at the indentation of the next line, begin the mapping on a line of its own, or put a value that holds ": " in quotes',
    ],
    [
      'a key that stands outside of its mapping',
      account('limits:', '  max_retries: 3', 'request_timeout: 5s'),
      'c.yaml:5:5: accounts[0].request_timeout: unknown key here, it belongs to accounts[0].limits: look at the indentation',
    ],
    [
      'a key that stands inside of another mapping',
      account('limits:', '  max_retries: 3', '  hosts: false'),
      'c.yaml:5:7: accounts[0].limits.hosts: unknown key here, it belongs to accounts[0], accounts[0].applications.settings[] or collection.intervals: look at the indentation',
    ],
    [
      'a pack by a shorter name',
      account('query_packs: [alerts]'),
      'c.yaml:3:19: accounts[0].query_packs[0]: must be alert_events, service_levels, deployments, transactions, browser, synthetics, limits or usage; did you mean "alert_events"?',
    ],
  ])('%s', (_, text, ...messages) => {
    expect(faultsOf(text)).toEqual(messages);
  });

  it('a query file that begins with a list', () => {
    const path = join(folder(), 'queries.yaml');
    writeFileSync(path, '- name: orders\n  nrql: SELECT 1\n');
    expect(faultsOf(account('account_id: 7', `query_files: ["${path}"]`))).toEqual([
      `${path}:1:1: expected a mapping, not a list: begin the file with "queries:" and indent the list below it`,
    ]);
  });
});
