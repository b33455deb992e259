import * as z from 'zod';
import type { EntityMatch } from '../config.ts';
import { list, notes, text, whole } from './parts.ts';

const GLOB = '`*` any run of characters, `?` one, the rest literal, case counts';

/** One application or key transaction by id, or those whose whole name fits a glob. */
const writtenMatch = z
  .strictObject({
    name: notes(text().optional(), {
      description: `A glob over the whole name: ${GLOB}. Either this or \`id\`.`,
      placeholder: '<glob>',
      example: 'checkout-*',
    }),
    id: notes(whole(1).optional(), { description: 'The id. Either this or `name`.', example: 1234567 }),
  })
  .refine(({ name, id }) => (name === undefined) !== (id === undefined), 'must have either name or id, one of them')
  .meta({ placeholder: '<match>' });

const entityMatch = z.codec(writtenMatch, z.custom<EntityMatch>(), {
  decode: ({ name, id }) => (id === undefined ? { name: name ?? '' } : { id }),
  encode: (match) => match,
});

/** A list of matches. It must not be empty: an empty one would leave everything out, and nobody would notice. */
const someMatches = list(entityMatch, 1);

const setting = z.strictObject({
  match: notes(entityMatch, { description: 'The applications it is for.', example: { name: 'legacy-*' } }),
  database_component: notes(z.enum(['auto', 'datastore', 'database', 'active_record']).default('auto'), {
    description: 'Which kind of database metric counts; `auto` finds out from the metrics that the application has.',
    example: 'database',
  }),
  hosts: notes(z.boolean().optional(), {
    description: 'Host series, and the calls for them.',
    otherwise: 'as `hosts` of the account',
    example: false,
  }),
});

export const applications = z.strictObject({
  include: notes(someMatches.optional(), {
    description: 'Only these applications.',
    otherwise: 'every application',
    example: [{ name: 'checkout-*' }, { id: 1234567 }],
  }),
  exclude: notes(list(entityMatch).prefault([]), {
    description: 'Not these, even when they are included.',
    example: [{ name: '*-staging' }],
  }),
  reporting_only: notes(z.boolean().default(true), {
    description: 'Applications that do not report get state metrics, but no calls for metric data.',
  }),
  settings: notes(list(setting).prefault([]), { description: 'Per application; the first match wins.' }),
});

const chosenKeyTransactions = z.strictObject({
  include: notes(someMatches.optional(), {
    description: 'Only these key transactions.',
    otherwise: 'every key transaction',
    example: [{ name: 'Checkout *' }],
  }),
  exclude: notes(list(entityMatch).prefault([]), {
    description: 'Not these, even when they are included.',
    example: [{ id: 7654321 }],
  }),
});

export const keyTransactions = z.union([z.boolean(), chosenKeyTransactions]);
