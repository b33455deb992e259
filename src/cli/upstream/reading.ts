import { inCalls } from '../../api/batches.ts';
import type { BatchRead, CallOptions, Outcome, TimeRange } from '../../api/reader.ts';
import { UpstreamError, type Application } from '../../api/types.ts';
import type { LiveAccount } from './session.ts';

const NO_OUTCOME = 'the reader gave no outcome for its subject';

/**
 * Reads all subjects, as many calls at once as the gate lets in; gives their outcomes in their order.
 *
 * @param ended called with the number of subjects whenever a call has ended
 */
export async function readAll<S, A, R extends TimeRange>(
  read: BatchRead<S, A, R>,
  subjects: readonly S[],
  range: R,
  call: CallOptions,
  ended: (subjects: number) => void = () => undefined,
): Promise<readonly Outcome<A>[]> {
  const outcomes = await Promise.all(
    inCalls(read, subjects, range).map(async ({ subjects: some }) => {
      const ofBatch = await read.read(some, range, call);
      ended(some.length);
      return ofBatch;
    }),
  );
  return outcomes.flat();
}

/**
 * Reads something about each item; gives the items with what was read about them, in their order. Rejects with the first
 * failure.
 */
export async function readEach<I, S, A, R extends TimeRange>(
  read: BatchRead<S, A, R>,
  items: readonly I[],
  subjectOf: (item: I) => S,
  range: R,
  call: CallOptions,
): Promise<readonly (readonly [item: I, value: A])[]> {
  const outcomes = await readAll(read, items.map(subjectOf), range, call);
  return items.map((item, index) => {
    const outcome = outcomes[index];
    if (outcome === undefined) throw new Error(NO_OUTCOME);
    return [item, valueOf(outcome)];
  });
}

/** Reads one subject alone. Rejects with what it failed with, or with the reason of the signal. */
export async function readOne<S, A, R extends TimeRange>(
  read: BatchRead<S, A, R>,
  subject: S,
  range: R,
  call: CallOptions,
): Promise<A> {
  const [outcome] = await read.read([subject], range, call);
  if (outcome === undefined) throw new Error(NO_OUTCOME);
  return valueOf(outcome);
}

/** The value that was read; throws what the reading failed with. */
export function valueOf<A>(outcome: Outcome<A>): A {
  if ('error' in outcome) throw outcome.error;
  return outcome.value;
}

/** An application and the account in which it was found. */
interface FoundApplication {
  readonly account: LiveAccount;
  readonly application: Application;
}

/** What an account's read ended with. */
interface Attempt {
  readonly account: LiveAccount;
  readonly applications: readonly Application[];
  readonly failure: unknown;
}

/** True of a text that can be the id of an application. */
export function isId(text: string): boolean {
  return /^[1-9][0-9]{0,14}$/.test(text);
}

/** True when the reader says that there is no such thing, as of an id that is another account's. */
export function isNotFound(error: unknown): boolean {
  return error instanceof UpstreamError && error.failure.reason === 'not_found';
}

/**
 * Finds an application: an id is read by id, and only what is no id of any account is looked for by its exact name in the
 * lists. Throws an Error whose message is a sentence: when nothing is found, when several have the name, and when an
 * account cannot be read, because it may have it; an id that another account has is found all the same.
 */
export async function findApplication(accounts: readonly LiveAccount[], app: string): Promise<FoundApplication> {
  const found = isId(app) ? await findById(accounts, Number(app)) : undefined;
  return found ?? findByName(accounts, app);
}

async function findById(accounts: readonly LiveAccount[], id: number): Promise<FoundApplication | undefined> {
  const attempts = await attempt(accounts, async ({ reader, call }) => {
    try {
      return [await reader.readApplication(id, call)];
    } catch (error) {
      if (isNotFound(error)) return [];
      throw error;
    }
  });
  const [found] = foundIn(attempts);
  if (found === undefined) throwFailure(attempts, `application ${id}`);
  return found;
}

async function findByName(accounts: readonly LiveAccount[], name: string): Promise<FoundApplication> {
  const attempts = await attempt(accounts, async ({ reader, call }) => {
    const applications = await reader.listApplications({}, call);
    return applications.filter((application) => application.name === name);
  });
  throwFailure(attempts, 'the application list');
  const [only, ...others] = foundIn(attempts);
  if (only === undefined) {
    throw new Error(`no application has the id or name "${name}": the command discover lists them`);
  }
  if (others.length > 0) {
    const ids = [only, ...others].map(({ application }) => application.id).join(', ');
    throw new Error(`${others.length + 1} applications have the name "${name}": give one of their ids (${ids})`);
  }
  return only;
}

function attempt(
  accounts: readonly LiveAccount[],
  read: (account: LiveAccount) => Promise<readonly Application[]>,
): Promise<Attempt[]> {
  return Promise.all(
    accounts.map((account) =>
      read(account).then(
        (applications) => ({ account, applications, failure: undefined }),
        (failure: unknown) => ({ account, applications: [], failure }),
      ),
    ),
  );
}

function foundIn(attempts: readonly Attempt[]): FoundApplication[] {
  return attempts.flatMap(({ account, applications }) => applications.map((application) => ({ account, application })));
}

function throwFailure(attempts: readonly Attempt[], what: string): void {
  const failed = attempts.find(({ failure }) => failure !== undefined);
  if (failed === undefined) return;
  throw new Error(`account ${failed.account.config.name}: ${what} cannot be read`, { cause: failed.failure });
}
