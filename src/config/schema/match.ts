import * as z from 'zod';
import type { EntityMatch } from '../match.ts';
import { typeMismatch } from '../schemaIssues.ts';
import { notes, text, whole } from './parts.ts';

const GLOB = '`*` any run of characters, `?` one, the rest literal, case counts';

/** The error of a match that is a plain name or id. */
const matchError = ({ code, input }: z.core.$ZodRawIssue): string | undefined => {
  const key = typeof input === 'string' ? 'name' : typeof input === 'number' ? 'id' : undefined;
  if (code !== 'invalid_type' || key === undefined) return undefined;
  return `${typeMismatch(input, 'a mapping')}: write {${key}: ...} around it`;
};

/** One application or key transaction by id, or all whose whole name matches a glob. */
const writtenMatch = z
  .strictObject(
    {
      name: notes(text().optional(), {
        description: `A glob over the whole name: ${GLOB}. Either this or \`id\`.`,
        placeholder: '<glob>',
        example: 'checkout-*',
      }),
      id: notes(whole(1).optional(), { description: 'The id. Either this or `name`.', example: 1234567 }),
    },
    { error: matchError },
  )
  .refine(({ name, id }) => (name === undefined) !== (id === undefined), 'must have either name or id, one of them')
  .meta({ placeholder: '<match>' });

/** The same for an application, with tags as a further choice. */
const writtenApplicationMatch = z
  .strictObject(
    {
      ...writtenMatch.shape,
      tag: notes(text().optional(), {
        description:
          'The key of a tag that the application has, whose case does not count. Only with `api: nerdgraph`.',
        example: 'team',
      }),
      value: notes(text().optional(), {
        description: `A glob over one of the values of the tag: ${GLOB}.`,
        otherwise: 'any value, or none',
        placeholder: '<glob>',
        example: 'pay*',
      }),
    },
    { error: matchError },
  )
  .superRefine(({ name, id, tag, value }, ctx) => {
    if (id !== undefined ? name !== undefined || tag !== undefined : name === undefined && tag === undefined) {
      ctx.addIssue('must have either id, or name, tag or both');
    } else if (value !== undefined && tag === undefined)
      ctx.addIssue('has a value without the tag that has it: add tag');
  })
  .meta({ placeholder: '<application_match>' });

export const applicationMatch = z.codec(writtenApplicationMatch, z.custom<EntityMatch>(), {
  decode: ({ name, id, tag, value }) => {
    if (id !== undefined) return { id };
    return tag === undefined ? { name: name ?? '' } : { tag, value, name };
  },
  encode: (match) => match,
});

export const entityMatch = z.codec(writtenMatch, z.custom<EntityMatch>(), {
  decode: ({ name, id }) => (id === undefined ? { name: name ?? '' } : { id }),
  encode: (match) => ('tag' in match ? {} : match),
});

/** Entities by name or tag; guids are long, and change when an entity is created anew. */
const writtenTagMatch = z
  .strictObject(
    {
      name: notes(text().optional(), {
        description: `A glob over the whole name: ${GLOB}.`,
        placeholder: '<glob>',
        example: 'checkout-*',
      }),
      tag: notes(text().optional(), {
        description: 'The key of a tag that the entity has, whose case does not count.',
        example: 'environment',
      }),
      value: notes(text().optional(), {
        description: `A glob over one of the values of the tag: ${GLOB}.`,
        otherwise: 'any value, or none',
        placeholder: '<glob>',
        example: 'production',
      }),
    },
    { error: matchError },
  )
  .superRefine(({ name, tag, value }, ctx) => {
    if (name === undefined && tag === undefined) ctx.addIssue('must have name, tag or both');
    else if (value !== undefined && tag === undefined) ctx.addIssue('has a value without the tag that has it: add tag');
  })
  .meta({ placeholder: '<entity_match>' });

export const tagMatch = z.codec(writtenTagMatch, z.custom<EntityMatch>(), {
  decode: ({ name, tag, value }) => (tag === undefined ? { name: name ?? '' } : { tag, value, name }),
  encode: (match) => ('id' in match ? {} : match),
});
