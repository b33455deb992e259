import { stringify } from 'yaml';
import type { JsonSchema } from '../../src/config/schemaIssues.ts';
import { alternativesOf, itemOf, keysOf, noteOf, sampleOf } from './schemaKeys.ts';
import { CONFIGURATION_HEAD } from './configurationHead.ts';

/** docs/configuration.md: the grammar of the values, where the configuration comes from, then every key. */
export function configurationPage(schema: JsonSchema): string {
  return [CONFIGURATION_HEAD, section('The file', schema), ...subsections(schema, '')].join('\n\n');
}

/** Writes a block of YAML that shows a key of an account, or of the file, with other values than the defaults. */
function sampleBlock(path: string, schema: JsonSchema): string[] {
  const keys = path.replaceAll('[]', '').split('.');
  if (path === 'accounts[]' || keys.length > 2 || path === 'collection.intervals') return [];
  const sample = { [keys.at(-1) ?? '']: withoutDefaults(schema, sampleOf(schema)) };
  return ['```yaml', stringify(sample, { lineWidth: 0 }).trimEnd(), '```', ''];
}

/** Removes the keys with default values from a sample; keeps the first key if no other remains. */
function withoutDefaults(schema: JsonSchema, sample: unknown): unknown {
  const parts = alternativesOf(schema);
  if (Array.isArray(sample)) {
    const item = parts.map(itemOf).find((each) => each !== undefined) ?? {};
    return sample.map((each: unknown) => withoutDefaults(item, each));
  }
  const mapping = parts.find(({ properties }) => properties !== undefined);
  if (mapping === undefined) return sample;
  const values = new Map(Object.entries(Object(sample) as Readonly<Record<string, unknown>>));
  const keys = keysOf(mapping).filter(({ name }) => values.has(name));
  const other = keys.filter(({ name, schema: { default: preset, properties } }) => {
    return (
      preset === undefined || (properties === undefined && JSON.stringify(preset) !== JSON.stringify(values.get(name)))
    );
  });
  const shown = other.length > 0 ? other : keys.slice(0, 1);
  return Object.fromEntries(shown.map(({ name, schema: inner }) => [name, withoutDefaults(inner, values.get(name))]));
}

function section(title: string, mapping: JsonSchema, sample: readonly string[] = []): string {
  const lines = keysOf(mapping).map(({ name, schema, required, description }) => {
    const notes = [typeOf(schema), ...defaultOf(schema, required)].join('; ');
    return `- \`${name}\` (${notes}): ${description.replace(/\bdocs\/(\w+(?:-\w+)*\.md)/g, '[$1]($1)')}`;
  });
  return [`## ${title}`, '', ...sample, ...lines].join('\n');
}

/** Writes a section for every nested mapping, in the order of the file. */
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

function defaultOf(schema: JsonSchema, required: boolean): string[] {
  const otherwise = noteOf(schema, 'otherwise');
  if (otherwise !== undefined) return otherwise === 'none' ? [] : [`default ${otherwise}`];
  if (schema.default === undefined) return required ? ['required'] : [];
  if (typeof schema.default === 'object') return [];
  return [`default \`${typeof schema.default === 'string' ? schema.default : JSON.stringify(schema.default)}\``];
}
