import * as z from 'zod';
import { formatPath, issue, mayBeSecret, type Issue, type Path } from './diagnostic.ts';
import { findInvisible, isQuoted } from '../text/invisible.ts';
import { suggest, withoutStyle } from '../text/wording.ts';

const EXPECTED: Readonly<Record<string, string>> = {
  string: 'text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  object: 'a mapping',
  record: 'a mapping',
  array: 'a list',
};

/** Describes a value of another type than expected. Never quotes the value, which may be a secret. */
export function describeMismatch(input: unknown, expected: string): string {
  if (input === undefined) return `is required (${expected})`;
  if (input === null) return `is empty, expected ${expected}: give it a value or remove the key`;
  return `expected ${expected}, not ${describeType(input)}${suggestCorrection(input, expected)}`;
}

function suggestCorrection(input: unknown, expected: string): string {
  if (expected === 'text') return typeof input === 'object' ? '' : ' (put it in quotes)';
  if (expected === 'a list') return ' (write "- " before each entry, also before a single one)';
  if (typeof input !== 'string' || findInvisible(input) !== undefined) return '';
  if (expected.includes('number') && isQuoted(input)) return ' (its text holds quotes: remove them where it is set)';
  if (expected.includes('number') && Number.isFinite(Number(input))) return ' (remove the quotes)';
  return expected.startsWith('true') ? ' (write true or false without quotes; yes, no, on and off are text)' : '';
}

/** Returns the message for a file that is not a mapping; undefined for other issues. */
export function expectMapping(key: string): (raw: z.core.$ZodRawIssue) => string | undefined {
  return ({ code, input }) =>
    code === 'invalid_type' && input !== null && input !== undefined
      ? `${describeMismatch(input, 'a mapping')}: begin the file with "${key}:" and indent the list below it`
      : undefined;
}

/**
 * Checks the values of a file against a schema, and reports every problem. `textAt` returns the text of a value that
 * came from a placeholder. The text replaces a value of another type if text is expected.
 */
export function parseWritten<T extends z.ZodType>(
  schema: T,
  written: unknown,
  textAt: (path: Path) => string | undefined = () => undefined,
): { readonly value: z.output<T> } | { readonly issues: readonly Issue[] } {
  const parse = (): { readonly value: z.output<T> } | { readonly issues: readonly Issue[] } => {
    try {
      const { data, error, success } = schema.safeParse(written, { error: explain });
      return success
        ? { value: data }
        : { issues: flatten(error.issues, schema, written).map((each) => addInvisible(each, written)) };
    } catch (error) {
      // The library passes the issues of a list as arguments. Beyond 100,000 they overflow the stack.
      if (!(error instanceof RangeError)) throw error;
      return { issues: [issue([], TOO_MANY)] };
    }
  };
  const result = parse();
  if (!('issues' in result)) return result;
  const mistyped = result.issues.filter(({ path, wantsText }) => wantsText && textAt(path) !== undefined);
  for (const { path } of mistyped) replaceAt(written, path, textAt(path));
  return mistyped.length > 0 ? parse() : result;
}

function addInvisible(found: Issue, file: unknown): Issue {
  const text = found.at === 'key' ? found.path.at(-1) : valueAt(file, found.path);
  const invisible = typeof text === 'string' ? findInvisible(text) : undefined;
  if (invisible === undefined || found.message.includes(invisible)) return found;
  return { ...found, message: `${found.message}; it holds the invisible character ${invisible}: remove it` };
}

function valueAt(file: unknown, path: Path): unknown {
  return path.reduce<unknown>((node, step) => {
    const isHolder = typeof node === 'object' && node !== null && Object.hasOwn(node, step);
    return isHolder ? (node as Record<string | number, unknown>)[step] : undefined;
  }, file);
}

const TOO_MANY = 'has more faults than can be told: check the entries of its longest list';

function replaceAt(file: unknown, path: Path, value: unknown): void {
  const holder = valueAt(file, path.slice(0, -1));
  const last = path.at(-1);
  if (last !== undefined) (holder as Record<string | number, unknown>)[last] = value;
}

function explain(raw: z.core.$ZodRawIssue): string | undefined {
  switch (raw.code) {
    case 'invalid_type':
      if (raw.expected === 'int' && typeof raw.input === 'number') return 'must be a whole number';
      return describeMismatch(raw.input, EXPECTED[raw.expected] ?? raw.expected);
    case 'invalid_value': {
      const values = raw.values.map(String);
      const { input } = raw;
      const hint = typeof input === 'string' && findInvisible(input) === undefined ? suggest(input, values) : '';
      return `must be ${joinWithOr(values)}${hint}`;
    }
    case 'invalid_union':
      return describeMismatch(raw.input, 'true, false or a mapping');
    case 'too_small':
      if (raw.origin === 'number' || raw.origin === 'int') return `must be at least ${String(raw.minimum)}`;
      return raw.origin === 'array' ? 'must have at least one entry' : 'must not be empty';
    case 'too_big':
      return `must be at most ${String(raw.maximum)}`;
    default:
      return undefined;
  }
}

/**
 * Returns one issue per diagnostic: unknown keys one by one, and for a union the issues of the alternative that the
 * user meant. Of two limits of a number, the setting's limit wins: it follows the limit of whole numbers.
 */
function flatten(issues: readonly z.core.$ZodIssue[], schema: z.ZodType, written: unknown): Issue[] {
  let keys: readonly SchemaKey[] | undefined;
  const reportUnknown = (key: string, path: Path): Issue =>
    reportUnknownKey(key, path, (keys ??= listKeys(toInputSchema(schema))), written);
  const all = flattenBelow(issues, reportUnknown, []);
  return [...new Map(all.map((each) => [`${each.at} ${formatPath(each.path)}`, each])).values()];
}

function flattenBelow(
  issues: readonly z.core.$ZodIssue[],
  reportUnknown: (key: string, path: Path) => Issue,
  above: Path,
): Issue[] {
  return issues.flatMap((found): Issue[] => {
    const path = [...above, ...found.path.map((step) => (typeof step === 'number' ? step : String(step)))];
    switch (found.code) {
      case 'unrecognized_keys':
        return found.keys.map((key) => reportUnknown(key, path));
      case 'invalid_key':
        return flattenBelow(found.issues, reportUnknown, path).map((inner) => issue(inner.path, inner.message, 'key'));
      case 'invalid_union': {
        // The user did not mean an alternative of another type.
        const meant = found.errors.find(
          (each) => !each.some(({ code, path }) => code === 'invalid_type' && path.length === 0),
        );
        return meant === undefined ? [issue(path, found.message)] : flattenBelow(meant, reportUnknown, path);
      }
      default: {
        const wantsText = found.code === 'invalid_type' && found.expected === 'string';
        return [{ ...issue(path, found.message), wantsText }];
      }
    }
  });
}

export type JsonSchema = z.core.JSONSchema.BaseSchema;

/** Converts a schema to JSON Schema of the written file: durations are text. */
export function toInputSchema(schema: z.ZodType): JsonSchema {
  return z.toJSONSchema(schema, { io: 'input', target: 'draft-7' });
}

interface SchemaKey {
  readonly name: string;
  readonly withoutStyle: string;
  /** The mapping that has the key, such as `accounts[].limits`; empty at the top of the file. */
  readonly place: string;
  readonly takesMapping: boolean;
}

/** Lists the keys of a mapping, then the keys of each mapping inside it. */
function listKeys(schema: JsonSchema | boolean, place = ''): readonly SchemaKey[] {
  const alternatives = expandAlternatives(schema);
  const properties = alternatives.flatMap((each) => Object.entries<JsonSchema | boolean>(each.properties ?? {}));
  const items = alternatives.flatMap<JsonSchema | boolean>((each) => each.items ?? []);
  return [
    ...properties.map(([name, value]) => {
      const takesMapping = expandAlternatives(value).some(({ type }) => type === 'object');
      return { name, withoutStyle: withoutStyle(name), place, takesMapping };
    }),
    ...properties.flatMap(([name, value]) => listKeys(value, place === '' ? name : `${place}.${name}`)),
    ...items.flatMap((value) => listKeys(value, `${place}[]`)),
  ];
}

function expandAlternatives(schema: JsonSchema | boolean): readonly JsonSchema[] {
  return typeof schema === 'boolean' ? [] : [schema, ...(schema.anyOf ?? [])];
}

/** Reports an unknown key of the mapping at `path`. Never repeats a key that may be a secret. */
function reportUnknownKey(key: string, path: Path, keys: readonly SchemaKey[], written: unknown): Issue {
  const here = generalise(path);
  const siblings = keys.filter(({ place }) => place === here).map(({ name }) => name);
  const neutral = withoutStyle(key);
  const places = keys.filter((each) => each.withoutStyle === neutral);
  // Other words with digits may be secrets.
  const isNumbered = siblings.includes(key.replace(/_?[0-9]{1,2}$/, ''));
  const isName = isNumbered || places.length > 0;
  const describe = (): string => {
    const meant = /^([a-z_]+)[:=]/.exec(key)?.[1] ?? '';
    if (siblings.includes(meant)) return `: write "${meant}: ", with a colon and a space`;
    if (siblings.includes('nrql') && /^(?:query|sql|statement)$/i.test(key)) return '; did you mean "nrql"?';
    const isShown = isName || !mayBeSecret(key);
    const near = isShown && findInvisible(key) === undefined ? suggest(key, siblings) : '';
    const isMapping = describeType(valueAt(written, [...path, key])) === 'a mapping';
    const fitting = places.filter(({ takesMapping }) => takesMapping || !isMapping);
    const below = keys.filter(({ place }) => {
      return place.startsWith(here) && siblings.includes(place.slice(here.length).replace('.', ''));
    });
    if (fitting.length > 0 && (near === '' || below.some(({ name }) => name === key))) {
      const names = [...new Set(fitting.map(({ name }) => name))];
      const subject = names.includes(key) ? 'it' : joinWithOr(names.map((name) => `"${name}"`));
      return ` here, ${subject} belongs to ${showPlaces(fitting, path)}: look at the indentation`;
    }
    if (!isShown)
      return ', not shown because it may hold a secret: write the name of a key, a colon, a space and the value';
    return near || suggestElsewhere(key, isMapping ? keys.filter(({ takesMapping }) => takesMapping) : below, path);
  };
  return { ...issue([...path, key], `unknown key${describe()}`, 'key'), isName };
}

/** Suggests a key of another mapping: `request_timeout` of `limits` for `timeout`. */
function suggestElsewhere(key: string, candidates: readonly SchemaKey[], path: Path): string {
  const suggestion = suggest(key, [...new Set(candidates.map(({ name }) => name))]);
  const meant = candidates.filter(({ name }) => suggestion.includes(`"${name}"`));
  return meant.length === 0 ? '' : ` here${suggestion.replace('?', '')} of ${showPlaces(meant, path)}?`;
}

function showPlaces(keys: readonly SchemaKey[], path: Path): string {
  return joinWithOr(keys.map(({ place }) => showPlace(place, path)));
}

/** Writes the list positions of the path `near` into a place, as far as both are equal. */
function showPlace(place: string, near: Path): string {
  const common = near.findLastIndex(
    (step, index) => typeof step === 'number' && place.startsWith(generalise(near.slice(0, index + 1))),
  );
  const start = near.slice(0, common + 1);
  return `${formatPath(start)}${place.slice(generalise(start).length)}` || 'the top of the file';
}

/** Formats a path without its list positions, as in `accounts[].limits`. */
function generalise(path: Path): string {
  return formatPath(path).replace(/\[[0-9]+\]/g, '[]');
}

function describeType(input: unknown): string {
  if (Array.isArray(input)) return 'a list';
  if (typeof input === 'number') return Number.isFinite(input) ? 'a number' : 'an infinite or undefined number';
  const kinds: Partial<Record<string, string>> = { string: 'text', boolean: 'true or false' };
  return kinds[typeof input] ?? 'a mapping';
}

function joinWithOr(values: readonly string[]): string {
  return values.length < 2 ? values.join('') : `${values.slice(0, -1).join(', ')} or ${values.at(-1) ?? ''}`;
}
