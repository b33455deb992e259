import * as z from 'zod';
import { account } from './schema/account.ts';
import { collection } from './schema/collection.ts';
import { notes } from './schema/parts.ts';

/**
 * The configuration file (contract 2): types, defaults and descriptions of every key, each key by itself. What must
 * hold between keys is in rules.ts.
 */
export const fileSchema = z.strictObject({
  accounts: notes(z.array(account).min(1), { description: 'The accounts to read, each with its key.' }),
  collection: notes(collection.prefault({}), { description: 'How the data are collected, for all accounts alike.' }),
});

export type FileConfig = z.output<typeof fileSchema>;
export type FileAccount = FileConfig['accounts'][number];
