import type { BatchRead, CallOptions, Outcome, TimeRange, UpstreamReader } from '../../api/upstreamReader.ts';
import { takeAll } from '../../api/upstreamReader.ts';
import type { Application, KeyTransaction } from '../../api/types.ts';
import { UpstreamError } from '../../api/upstreamError.ts';
import { suggest } from '../../text/wording.ts';
import type { LiveAccount } from './session.ts';

/** Reads all subjects in parallel within the limits. Returns outcomes in their order. Calls `ended` after each call. */
export async function readAll<S, A, R extends TimeRange>(
  read: BatchRead<S, A, R>,
  subjects: readonly S[],
  range: R,
  call: CallOptions,
  ended: (subjects: number) => void = () => undefined,
): Promise<readonly Outcome<A>[]> {
  const outcomes = new Map<S, Outcome<A>>();
  await Promise.all(
    Array.from(takeAll(read, subjects, range), async (batch) => {
      const found = await read.read(batch.subjects, range, call);
      for (const [index, outcome] of found.entries()) outcomes.set(batch.subjects[index] as S, outcome);
      ended(found.length);
    }),
  );
  return subjects.map((subject) => outcomes.get(subject) as Outcome<A>);
}

export async function readOne<S, A, R extends TimeRange>(
  read: BatchRead<S, A, R>,
  subject: S,
  range: R,
  call: CallOptions,
): Promise<A> {
  const [outcome] = await readAll(read, [subject], range, call);
  if (outcome === undefined || 'error' in outcome) throw outcome?.error ?? new Error('the reader returned no outcome');
  return outcome.value;
}

export function isId(text: string): boolean {
  return /^[1-9][0-9]{0,15}$/.test(text) && Number.isSafeInteger(Number(text));
}

export interface FoundRecord<T> {
  readonly account: LiveAccount;
  readonly value: T;
}

/** Returns the records of one account. A record that was named twice appears once. */
export function selectFound<T extends { readonly id: number }>(account: LiveAccount, found: readonly FoundRecord<T>[]) {
  const inAccount = found.filter((each) => each.account === account);
  return [...new Map(inAccount.map(({ value }) => [value.id, value])).values()];
}

/**
 * Finds applications by id or exact name. Reads the lists at most once. Rejects with an Error for an unknown
 * application, an ambiguous name, or an account that it cannot read.
 */
export async function findApplications(accounts: readonly LiveAccount[], apps: readonly string[]) {
  const found: FoundRecord<Application>[] = [];
  let lists: ReturnType<typeof listAll> | undefined;
  for (const app of new Set(apps)) {
    const what = `application ${app}`;
    const id = Number(app);
    const read = async ({ reader, call }: LiveAccount): Promise<Application | undefined> =>
      reader.readApplication?.(id, call) ?? (await reader.listApplications({ ids: [id] }, call))[0];
    const byId = isId(app) ? await findById(accounts, what, read) : undefined;
    found.push(byId ?? findByName(await (lists ??= listAll(accounts)), app));
  }
  return found;
}

/** Finds key transactions by id. Rejects as findApplications does. */
export async function findKeyTransactions(accounts: readonly LiveAccount[], ids: readonly number[]) {
  const found: FoundRecord<KeyTransaction>[] = [];
  for (const id of new Set(ids)) {
    const what = `key transaction ${id}`;
    const one = await findById(accounts, what, async ({ reader, call }) => {
      if (reader.readKeyTransaction !== undefined) return reader.readKeyTransaction(id, call);
      const [listed] = await reader.listKeyTransactions({ ids: [id] }, call);
      if (listed?.unread !== undefined) throw listed.unread;
      return listed;
    });
    if (one === undefined) throw new Error(`no key transaction has the id ${id}: the command discover lists them`);
    found.push(one);
  }
  return found;
}

async function findById<T>(
  accounts: readonly LiveAccount[],
  what: string,
  read: (account: LiveAccount) => Promise<T | undefined>,
): Promise<FoundRecord<T> | undefined> {
  const attempts = accounts.map((account) =>
    read(account).then(
      (value) => value && { account, value },
      (error: unknown) => {
        // The id may belong to another account.
        const isNotFound = error instanceof UpstreamError && error.failure.reason === 'not_found';
        return isNotFound ? undefined : createReadError(account, what, error);
      },
    ),
  );
  // Accounts in the order of the configuration, not of the responses.
  const results = (await Promise.all(attempts)).filter((result) => result !== undefined);
  const found = results.flatMap((result) => (result instanceof Error ? [] : [result]));
  if (found.length > 1)
    throw new Error(`${what} is in several accounts: choose one with --account (${namesOf(found)})`);
  const failure = results.find((result) => result instanceof Error);
  if (found.length === 0 && failure !== undefined) throw failure;
  return found[0];
}

async function listAll(accounts: readonly LiveAccount[]): Promise<readonly FoundRecord<Application>[]> {
  const lists = accounts.map(async (account) =>
    (await listApplications(account, {})).map((value) => ({ account, value })),
  );
  return (await Promise.all(lists)).flat();
}

function findByName(listed: readonly FoundRecord<Application>[], name: string): FoundRecord<Application> {
  const found = listed.filter(({ value }) => value.name === name);
  const [only] = found;
  if (only === undefined) {
    const meant = suggest(name, [...new Set(listed.map(({ value }) => value.name))]);
    throw new Error(`no application has the id or name "${name}": the command discover lists them${meant}`);
  }
  if (found.length === 1) return only;
  const isInSeveral = found.some(({ account }) => account !== only.account);
  const advice = isInSeveral
    ? `choose one of their accounts with --account (${namesOf(found)})`
    : `give one of their ids (${found.map(({ value }) => value.id).join(', ')})`;
  throw new Error(`${found.length} applications have the name "${name}": ${advice}`);
}

function namesOf(found: readonly FoundRecord<unknown>[]): string {
  return [...new Set(found.map(({ account }) => account.config.name))].join(', ');
}

export function listApplications(account: LiveAccount, filter: Parameters<UpstreamReader['listApplications']>[0]) {
  return account.reader.listApplications(filter, account.call).catch((error: unknown) => {
    throw createReadError(account, 'the application list', error);
  });
}

export function createReadError({ config }: LiveAccount, what: string, cause: unknown): Error {
  return new Error(`account ${config.name}: ${what} cannot be read`, { cause });
}
