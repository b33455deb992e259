import { stringify } from 'yaml';
import type { JsonSchema } from '../../src/config/schemaIssues.ts';
import { alternativesOf, itemOf, keysOf, noteOf, sampleOf } from './schemaKeys.ts';
import { CONFIGURATION_HEAD } from './configurationHead.ts';

/** docs/configuration.md: the grammar of the values, where the configuration comes from, then every key. */
export function configurationPage(schema: JsonSchema): string {
  return [CONFIGURATION_HEAD, section('The file', schema), ...subsections(schema, '')].join('\n\n');
}

/** A block of YAML that shows a key of an account or of the file in use; of an account itself its first keys. */
function sampleBlock(path: string, schema: JsonSchema): string[] {
  const [first = '', name] = path.split('.');
  if (path.split('.').length > 2) return [];
  const account = { name: 'production', account_id: 1234567, api_key: '${NEW_RELIC_API_KEY}' };
  const sample = path === 'accounts[]' ? { labels: { team: 'payments' }, hosts: true } : sampleOf(schema);
  const ofKey = name === undefined ? sample : { [name.replace('[]', '')]: sample };
  const file = first === 'accounts[]' ? { accounts: [{ ...account, ...Object(ofKey) }] } : { [first]: ofKey };
  return ['```yaml', stringify(file, { lineWidth: 0 }).trimEnd(), '```', ''];
}

function section(title: string, mapping: JsonSchema, sample: readonly string[] = []): string {
  const rows = keysOf(mapping).map(
    ({ name, schema, required, description }) =>
      `| \`${name}\` | ${typeOf(schema)} | ${defaultOf(schema, required)} | ${cell(description)} |`,
  );
  return [
    `## ${title}`,
    '',
    ...sample,
    '| Key | Type | Default | Meaning |',
    '| --- | --- | --- | --- |',
    ...rows,
  ].join('\n');
}

/** A section for every mapping below this one, in the order of the file. */
function subsections(mapping: JsonSchema, above: string): string[] {
  return keysOf(mapping).flatMap(({ name, schema }) =>
    alternativesOf(schema).flatMap((alternative) => {
      const item = itemOf(alternative);
      const inner = item ?? alternative;
      if (inner.properties === undefined || noteOf(inner, 'placeholder') !== undefined) return [];
      const shown = schema['example'] === undefined ? alternative : schema;
      const path = `${above}${name}${item === undefined ? '' : '[]'}`;
      return [section(`\`${path}\``, inner, sampleBlock(path, shown)), ...subsections(inner, `${path}.`)];
    }),
  );
}

function typeOf(schema: JsonSchema): string {
  const placeholder = noteOf(schema, 'placeholder');
  const range = noteOf(schema, 'range') ?? '';
  if (placeholder !== undefined) return `\`${placeholder}\`${range === '' ? '' : `, ${range}`}`;
  if (schema.anyOf !== undefined) return alternativesOf(schema).map(typeOf).join(' or ');
  if (schema.enum !== undefined) return schema.enum.map((value) => `\`${String(value)}\``).join(', ');
  const item = itemOf(schema);
  if (item !== undefined)
    return `list of ${item.properties !== undefined && noteOf(item, 'placeholder') === undefined ? 'mappings' : typeOf(item)}`;
  if (schema.properties !== undefined) return 'mapping';
  if (schema.type === 'integer') return `\`<int>\`${bounds(schema)}`;
  return `\`<${String(schema.type)}>\``;
}

function bounds({ minimum, maximum }: JsonSchema): string {
  if (minimum === undefined) return '';
  if (maximum === undefined || maximum === Number.MAX_SAFE_INTEGER) return `, at least ${String(minimum)}`;
  return `, ${String(minimum)} to ${String(maximum)}`;
}

function defaultOf(schema: JsonSchema, required: boolean): string {
  const otherwise = noteOf(schema, 'otherwise');
  if (otherwise !== undefined) return cell(otherwise);
  if (schema.default === undefined) return required ? 'required' : 'none';
  if (schema.properties !== undefined) return 'its defaults';
  return cell(`\`${typeof schema.default === 'string' ? schema.default : JSON.stringify(schema.default)}\``);
}

function cell(text: string): string {
  return text.replaceAll('|', '\\|');
}
