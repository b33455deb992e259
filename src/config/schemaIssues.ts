import * as z from 'zod';
import { formatPath, issue, mayBeSecret, type Issue, type Path } from './diagnostic.ts';
import { findInvisible, isQuoted } from '../text/invisible.ts';
import { suggest, withoutStyle } from '../text/wording.ts';

/** Types in words, by their names in the schema library. */
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
      return success ? { value: data } : { issues: flatten(error.issues, schema, written).map(addInvisible(written)) };
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

/** Adds to an issue that the value or key holds an invisible character. */
function addInvisible(file: unknown): (issue: Issue) => Issue {
  return (each) => {
    const text = each.at === 'key' ? each.path.at(-1) : valueAt(file, each.path);
    const invisible = typeof text === 'string' ? findInvisible(text) : undefined;
    return invisible === undefined || each.message.includes(invisible)
      ? each
      : { ...each, message: `${each.message}; it holds the invisible character ${invisible}: remove it` };
  };
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

/** Returns the message for an issue of the schema library. A message of our schema takes precedence. */
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
  let root: JsonSchema | undefined;
  let owners: Owners | undefined;
  const reportUnknown = (key: string, path: Path): Issue => {
    root ??= toInputSchema(schema);
    owners ??= collectOwners(expandAlternatives([root]));
    const known = path.reduce(descend, expandAlternatives([root])).flatMap(keysOf);
    const isMapping = describeType(valueAt(written, [...path, key])) === 'a mapping';
    const message = describeUnknownKey({ key, path, isMapping }, root, owners);
    const isName = isNumbered(key, known) || owners.has(withoutStyle(key));
    return { ...issue([...path, key], message, 'key'), isName };
  };
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

/** Keys under other names. */
const OTHER_WORDS: Readonly<Record<string, string>> = { query: 'nrql', sql: 'nrql', statement: 'nrql' };

interface UnknownKey {
  readonly key: string;
  readonly path: Path;
  /** True if the value is a mapping: then only keys for mappings are suggested. */
  readonly isMapping: boolean;
}

/** Describes an unknown key, and suggests keys or mappings. Never repeats a key that may be a secret. */
function describeUnknownKey({ key, path, isMapping }: UnknownKey, root: JsonSchema, owners: Owners): string {
  const here = path.reduce(descend, expandAlternatives([root]));
  const known = here.flatMap(keysOf);
  const typo = /^([a-z_]+)([:=])/.exec(key);
  const meant = known.find((name) => name === typo?.[1]);
  if (meant !== undefined) {
    return typo?.[2] === ':'
      ? `unknown key: put a space after the colon of "${meant}:"`
      : `unknown key: write "${meant}: ", with a colon and a space`;
  }
  const other = OTHER_WORDS[key.toLowerCase()] ?? '';
  if (known.includes(other)) return `unknown key; did you mean "${other}"?`;
  const places = owners.get(withoutStyle(key)) ?? [];
  const isName = !mayBeSecret(key) || isNumbered(key, known) || places.length > 0;
  const near = !isName || findInvisible(key) !== undefined ? '' : suggest(key, known);
  const isOfChild = (): boolean => known.some((child) => descend(here, child).flatMap(keysOf).includes(key));
  const fitting = places.filter(({ takesMapping }) => takesMapping || !isMapping);
  if (fitting.length > 0 && (near === '' || isOfChild()))
    return `unknown key here, ${describeOwners(key, fitting, path)}`;
  if (!isName)
    return 'unknown key, not shown because it may hold a secret: write the name of a key, a colon, a space and the value';
  const hint = near === '' ? suggestBelow(key, here, known) : near;
  return `unknown key${hint === '' && isMapping ? suggestMapping(key, path, owners) : hint}`;
}

/**
 * Writes `it belongs to accounts[0].limits: look at the indentation`. Names the key if it was written in another
 * style.
 */
function describeOwners(key: string, owners: readonly Owner[], path: Path): string {
  const names = [...new Set(owners.map(({ name }) => name))];
  const subject = names.includes(key) ? 'it' : joinWithOr(names.map((name) => `"${name}"`));
  return `${subject} belongs to ${showPlaces(owners, path)}: look at the indentation`;
}

function showPlaces(owners: readonly Owner[], path: Path): string {
  return joinWithOr(owners.map(({ place }) => showPlace(place, path)));
}

/** Suggests a mapping from anywhere in the schema: `limits` for `limit: {}` at the top of the file. */
function suggestMapping(key: string, path: Path, owners: Owners): string {
  const mappings = [...owners.values()].flat().filter(({ takesMapping }) => takesMapping);
  const names = [...new Set(mappings.map(({ name }) => name))];
  const suggestion = suggest(key, names);
  const meant = mappings.filter(({ name }) => suggestion.includes(`"${name}"`));
  const [first] = meant;
  return first === undefined ? '' : ` here; did you mean "${first.name}" of ${showPlaces(meant, path)}?`;
}

/** True for a known key with digits at its end: it is not a secret, although other words with digits may be. */
function isNumbered(key: string, known: readonly string[]): boolean {
  return known.includes(key.replace(/_?[0-9]{1,2}$/, ''));
}

/** Suggests a key one mapping further down: `limits.request_timeout`. */
function suggestBelow(key: string, here: readonly JsonSchema[], known: readonly string[]): string {
  const names = known.flatMap((child) =>
    descend(here, child)
      .flatMap(keysOf)
      .map((name) => ({ child, name })),
  );
  const suggestion = suggest(
    key,
    names.map(({ name }) => name),
  );
  const meant = names.find(({ name }) => suggestion.includes(`"${name}"`));
  return meant === undefined ? '' : suggestion.replace(meant.name, `${meant.child}.${meant.name}`);
}

/** A mapping that has a key. In its place, `[]` is any position of a list. */
interface Owner {
  readonly name: string;
  readonly place: readonly string[];
  /** True if the key takes a mapping. */
  readonly takesMapping: boolean;
}

/** The mappings that have a key, by the key in neutral style. */
type Owners = ReadonlyMap<string, readonly Owner[]>;

/** Collects the owners of all keys once: a file may have thousands of unknown keys. */
function collectOwners(
  schemas: readonly JsonSchema[],
  place: readonly string[] = [],
  owners = new Map<string, Owner[]>(),
): Owners {
  const names = schemas.flatMap(keysOf);
  for (const name of new Set(names)) {
    const takesMapping = descend(schemas, name).some(({ type }) => type === 'object');
    const key = withoutStyle(name);
    owners.set(key, [...(owners.get(key) ?? []), { name, place, takesMapping }]);
  }
  for (const name of names) collectOwners(descend(schemas, name), [...place, name], owners);
  if (schemas.some(({ items }) => items !== undefined)) collectOwners(descend(schemas, 0), [...place, '[]'], owners);
  return owners;
}

/** Formats a place. Its lists have the positions of the path `near`, as far as both are equal. */
function showPlace(place: readonly string[], near: Path): string {
  const fork = place.findIndex((step, index) => step !== (typeof near[index] === 'number' ? '[]' : near[index]));
  const common = fork < 0 ? place.length : fork;
  const steps = place.map((step, index) => {
    if (step === '[]') return `[${index < common ? String(near[index]) : ''}]`;
    return index === 0 ? step : `.${step}`;
  });
  return place.length === 0 ? 'the top of the file' : steps.join('');
}

export type JsonSchema = z.core.JSONSchema.BaseSchema;

/** Converts a schema to JSON Schema of the written file: durations are text. */
export function toInputSchema(schema: z.ZodType): JsonSchema {
  return z.toJSONSchema(schema, { io: 'input', target: 'draft-7' });
}

/** Returns the schemas of a value inside a mapping or list; none without fixed keys. */
function descend(schemas: readonly JsonSchema[], step: string | number): readonly JsonSchema[] {
  return expandAlternatives(
    schemas.flatMap((schema) => {
      const next = typeof step === 'number' ? schema.items : schema.properties?.[step];
      return next === undefined || typeof next === 'boolean' || Array.isArray(next) ? [] : [next];
    }),
  );
}

function keysOf(schema: JsonSchema): readonly string[] {
  return Object.keys(schema.properties ?? {});
}

function expandAlternatives(schemas: readonly JsonSchema[]): readonly JsonSchema[] {
  return schemas.flatMap((schema) => [schema, ...(schema.anyOf ?? [])]);
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
