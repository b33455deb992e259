import * as z from 'zod';
import type { EntityMatch } from '../match.ts';
import { describeMismatch } from '../schemaIssues.ts';
import { list, notes, ownTimes, text, whole } from './parts.ts';

const GLOB = '`*` any run of characters, `?` one, the rest literal, case counts';

/** Returns the message for a plain name or id instead of a mapping; undefined for other issues. */
const explainScalar = ({ code, input }: z.core.$ZodRawIssue): string | undefined => {
  const key = typeof input === 'string' ? 'name' : typeof input === 'number' ? 'id' : undefined;
  if (code !== 'invalid_type' || key === undefined) return undefined;
  return `${describeMismatch(input, 'a mapping')}: write {${key}: ...} around it`;
};

const nameGlob = (more = '') =>
  notes(text().optional(), {
    description: `A glob over the whole name: ${GLOB}.${more}`,
    placeholder: '<glob>',
    example: 'checkout-*',
  });

const tagKeys = (description: string, tag: string, value: string) => ({
  tag: notes(text().optional(), { description, example: tag }),
  value: notes(text().optional(), {
    description: `A glob over one of the values of the tag: ${GLOB}.`,
    otherwise: 'any value, or none',
    placeholder: '<glob>',
    example: value,
  }),
});

const VALUE_WITHOUT_TAG = 'has a value without the tag that has it: add tag';

const nameOrId = {
  name: nameGlob(' Either this or `id`.'),
  id: notes(whole(1).optional(), { description: 'The id. Either this or `name`.', example: 1234567 }),
};

/** Matches one application or key transaction by id, or all whose complete name matches a glob. */
export const entityMatch = z
  .strictObject(nameOrId, { error: explainScalar })
  .refine(({ name, id }) => (name === undefined) !== (id === undefined), 'must have either name or id, one of them')
  .meta({ placeholder: '<match>' });

export const applicationMatch = z
  .strictObject(
    {
      ...nameOrId,
      ...tagKeys(
        'The key of a tag that the application has, whose case does not count. Not with `api: rest`.',
        'team',
        'pay*',
      ),
    },
    { error: explainScalar },
  )
  .refine(({ id, name, tag }) => (id === undefined) === (name !== undefined || tag !== undefined), {
    error: 'must have either id, or name, tag or both',
    abort: true,
  })
  .refine(hasTagForValue, VALUE_WITHOUT_TAG)
  .meta({ placeholder: '<application_match>' });

/** Matches entities by name or tag. A guid is long, and changes when an entity is created anew. */
export const tagMatch = z
  .strictObject(
    {
      name: nameGlob(),
      ...tagKeys('The key of a tag that the entity has, whose case does not count.', 'environment', 'production'),
    },
    { error: explainScalar },
  )
  .refine(({ name, tag }) => name !== undefined || tag !== undefined, {
    error: 'must have name, tag or both',
    abort: true,
  })
  .refine(hasTagForValue, VALUE_WITHOUT_TAG)
  .meta({ placeholder: '<entity_match>' });

function hasTagForValue({ tag, value }: EntityMatch): boolean {
  return value === undefined || tag !== undefined;
}

/** Returns the keys `include` and `exclude`. An empty `include` is refused: it would silently exclude everything. */
export function choice<T extends z.ZodType>(match: T, plural: string, otherwise: string, examples: unknown[][]) {
  const [include, exclude] = examples;
  return {
    include: notes(list(match, 1).optional(), { description: `Only these ${plural}.`, otherwise, example: include }),
    exclude: notes(list(match).prefault([]), {
      description: 'Not these, even when they are included.',
      example: exclude,
    }),
  };
}

const ENTITY_TYPE = /^[A-Z0-9_]+-[A-Z0-9_]+$/;

export const entitySelection = z.strictObject({
  type: notes(z.string().regex(ENTITY_TYPE, 'is not DOMAIN-TYPE in capitals, such as EXT-SERVICE'), {
    description: 'The type, as NerdGraph names it: `DOMAIN-TYPE`. Each type once in an account.',
    placeholder: '<DOMAIN-TYPE>',
    example: 'EXT-SERVICE',
  }),
  ...choice(tagMatch, 'entities', 'every entity of the type', [
    [{ name: 'checkout-*' }, { tag: 'environment', value: 'production' }],
    [{ name: 'mail-*' }],
  ]),
  metrics: notes(list(text(), 1).optional(), {
    description: "Only these golden metrics, by New Relic's names.",
    otherwise: 'all golden metrics of the type',
    example: ['responseTimeMs', 'throughput'],
  }),
  tags: notes(list(text()).prefault([]), {
    description: 'Tags that become labels of `newrelic_entity_info`, by their keys, whose case does not count.',
    example: ['team'],
  }),
  ...ownTimes('values', '5m'),
  max_entities: notes(whole(1).default(1_000), {
    description:
      'Maximum number of entities, in the order of name and guid. The exporter leaves out the rest, counts them in ' +
      '`newrelic_exporter_entities_left_out`, and logs this once.',
  }),
});
