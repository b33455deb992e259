import * as z from 'zod';
import type { EntityMatch } from '../config.ts';
import { notes, text, whole } from './parts.ts';

const GLOB = '`*` any run of characters, `?` one, the rest literal, case counts';

/** One application or key transaction by id, or those whose whole name fits a glob. */
export const entityMatch = z
  .strictObject({
    name: notes(text().optional(), {
      description: `A glob over the whole name: ${GLOB}. Either this or \`id\`.`,
      placeholder: '<glob>',
      example: 'checkout-*',
    }),
    id: notes(whole(1).optional(), { description: 'The id. Either this or `name`.', example: 1234567 }),
  })
  .refine(({ name, id }) => (name === undefined) !== (id === undefined), 'must have either name or id, one of them')
  .transform(({ name, id }): EntityMatch => (id === undefined ? { name: name ?? '' } : { id }))
  .meta({ placeholder: '<match>' });

/** A list of matches that says something: an empty one would silently leave everything out. */
export const someMatches = z.array(entityMatch).min(1);
