import * as z from 'zod';
import { entityMatch, someMatches } from './match.ts';
import { notes } from './parts.ts';

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
  exclude: notes(z.array(entityMatch).prefault([]), {
    description: 'Not these, even when they are included.',
    example: [{ name: '*-staging' }],
  }),
  reporting_only: notes(z.boolean().default(true), {
    description: 'Applications that do not report get state metrics, but no calls for metric data.',
  }),
  settings: notes(z.array(setting).prefault([]), { description: 'Per application; the first match wins.' }),
});

const chosenKeyTransactions = z
  .strictObject({
    include: notes(someMatches.optional(), {
      description: 'Only these key transactions.',
      otherwise: 'every key transaction',
      example: [{ name: 'Checkout *' }],
    }),
    exclude: notes(z.array(entityMatch).prefault([]), {
      description: 'Not these, even when they are included.',
      example: [{ id: 7654321 }],
    }),
  })
  .transform(({ include, exclude }) => ({ include, exclude }));

export const keyTransactions = z.union([z.boolean(), chosenKeyTransactions]);
