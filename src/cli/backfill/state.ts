import { isDeepStrictEqual } from 'node:util';
import * as z from 'zod';
import { UsageError } from '../process/usageError.ts';
import type { WorkFolder } from './workFolder.ts';

const FILE = 'state.json';

const subject = z.strictObject({
  /** Place of the account in the configuration. */
  account: z.int().min(0),
  id: z.int(),
  name: z.string(),
  language: z.string().optional(),
  labels: z.record(z.string(), z.string()),
  database: z.enum(['auto', 'datastore', 'database', 'active_record']),
  hosts: z.boolean(),
});

const chunk = z.strictObject({ from: z.int(), to: z.int(), readFrom: z.int(), granule: z.int() });

/** What a run was asked for; a run that goes on with it must be asked for the same. */
const resumeKey = z.strictObject({
  '--from': z.string(),
  '--to': z.string(),
  '--window': z.string(),
  '--app': z.array(z.string()),
  '--hosts': z.boolean(),
  '--label': z.record(z.string(), z.string()),
  accounts: z.array(z.string()),
  raw_values: z.boolean(),
});

const state = z.strictObject({
  version: z.literal(2),
  resumeKey,
  range: z.strictObject({ from: z.int(), to: z.int() }),
  /** Seconds. */
  window: z.int(),
  /** What each account is read by, in the order of the configuration. */
  chunks: z.array(z.array(chunk)),
  subjects: z.array(subject),
});

export type ResumeKey = z.infer<typeof resumeKey>;

/** An application that is backfilled, with what its calculation needs to know. */
export type Subject = z.infer<typeof subject>;

/** Everything that was decided when a run began: one that is resumed works on with the same. */
export type State = z.infer<typeof state>;

export async function saveState(folder: WorkFolder, decided: State): Promise<void> {
  await folder.write(FILE, decided);
}

/**
 * What an interrupted run had decided; undefined when it had not come so far. Throws a UsageError when it was asked for
 * something else, or when its folder is of another version of this program.
 */
export async function loadState(folder: WorkFolder, asked: ResumeKey): Promise<State | undefined> {
  if (!folder.has(FILE)) return undefined;
  const parsed = state.safeParse(await folder.read(FILE));
  if (!parsed.success) {
    throw new UsageError(`${folder.path} was not left by this version of the program: start anew with --force`);
  }
  const before = parsed.data.resumeKey;
  const others = comparedKeys.filter((key) => !isDeepStrictEqual(before[key], asked[key]));
  if (others.length > 0) {
    throw new UsageError(
      `the interrupted run in ${folder.path} was another one (${others.join(', ')}): ` +
        'repeat its flags, or start anew with --force',
    );
  }
  return parsed.data;
}

const comparedKeys = resumeKey.keyof().options;
