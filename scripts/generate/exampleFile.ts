import { stringify } from 'yaml';
import type { JsonSchema } from '../../src/config/schemaIssues.ts';
import { alternativesOf, itemOf, keysOf, sampleOf, type SchemaKey } from './schemaKeys.ts';

const WIDTH = 100;

const HEAD = `# yaml-language-server: $schema=docs/configuration.schema.json
#
# Every key of the configuration. Set NEW_RELIC_API_KEY and this file is valid as it is: the keys that
# are set have their default values, but for the account's name. Only "accounts" with a key is required.
# Lines that begin with "#" and no space after it show keys that have no default, or another way to use one.
# Where there is a space, the keys are for an entry of another kind: account_ids takes the place of account_id.
# docs/configuration.md has the same keys, and what their values may be.`;

/** Keys without a default that the example sets, so that it is valid as it is. */
const SET = new Set(['accounts', 'accounts.name', 'accounts.region', 'accounts.api_key']);

/** Keys that the other keys of the example exclude. */
const OF_OTHER_ENTRIES = new Set(
  ['account_ids', 'include_accounts', 'exclude_accounts', 'max_accounts'].map((key) => `accounts.${key}`),
);

/** Writes the example file: every key with its description, set to its default, or commented out with an example. */
export function exampleFile(schema: JsonSchema): string {
  return `${HEAD}\n\n${mapping(schema, '', '').join('\n')}\n`;
}

function mapping(schema: JsonSchema, path: string, indent: string): string[] {
  return keysOf(schema).flatMap((key) => [
    ...comment(key, indent),
    ...entry(key, path === '' ? key.name : `${path}.${key.name}`, indent),
  ]);
}

function entry({ name, schema }: SchemaKey, path: string, indent: string): string[] {
  const item = itemOf(schema);
  if (item !== undefined && SET.has(path)) {
    const inner = mapping(item, path, `${indent}    `);
    const first = inner.findIndex((line) => !line.trimStart().startsWith('#'));
    return [`${indent}${name}:`, ...inner.map((line, index) => (index === first ? itemStart(line) : line))];
  }
  const preset = schema.default;
  const other = alternativesOf(schema).find(({ properties }) => properties !== undefined);
  if (other !== undefined && (other === schema || typeof preset === 'object')) {
    const inner = mapping(other, path, `${indent}  `);
    const isSet = inner.some((line) => !line.trimStart().startsWith('#'));
    return isSet ? [`${indent}${name}:`, ...inner] : shown(name, sampleOf(schema), indent, '#');
  }
  if (OF_OTHER_ENTRIES.has(path)) return [`${indent}# ${name}: ${inOneLine(sampleOf(schema))}`];
  if (SET.has(path)) return shown(name, sampleOf(schema), indent, '');
  const lines = preset === undefined ? [] : shown(name, preset, indent, '');
  const sample = sampleOf(other ?? schema);
  const sameAgain = preset !== undefined && JSON.stringify(sample) === JSON.stringify(preset);
  const simple = preset !== undefined && typeof sample !== 'object';
  return sameAgain || simple ? lines : [...lines, ...shown(name, sample, indent, '#')];
}

function inOneLine(value: unknown): string {
  return stringify(value, { lineWidth: 0, collectionStyle: 'flow' }).trimEnd();
}

/** Replaces the indentation before the first key of a list item with a dash. */
function itemStart(line: string): string {
  return line.replace(/ {2}(?=\S)/, '- ');
}

function shown(name: string, value: unknown, indent: string, mark: '' | '#'): string[] {
  return stringify({ [name]: value }, { lineWidth: 0 })
    .trimEnd()
    .split('\n')
    .map((line) => `${indent}${mark}${line}`);
}

function comment({ description, schema }: SchemaKey, indent: string): string[] {
  const choice = schema.enum === undefined ? '' : ` One of ${schema.enum.join(', ')}.`;
  const words = `${description.replaceAll('`', '')}${choice}`.split(' ');
  const lines: string[] = [];
  let line = '';
  for (const word of words) {
    if (line !== '' && indent.length + line.length + word.length + 3 > WIDTH) {
      lines.push(line);
      line = '';
    }
    line = line === '' ? word : `${line} ${word}`;
  }
  return [...lines, line].map((text) => `${indent}# ${text}`);
}
