import { type CallKind, FaultBook, type FaultRule, type FaultTarget } from './faults/faultRules.ts';
import type { ServiceResponse } from './simulatorHttp.ts';
import type { AccountOptions, ServiceSettings } from './simulatorSettings.ts';
import { CHANGE, INTERFACES, toAmendment } from './changes.ts';
import { type Amendment, firstIncompleteMinute } from './world/worldEntities.ts';
import { createWorld, type World } from './world/world.ts';
import type * as z from 'zod';

/** Counts calls per key in each minute of the clock. */
export class MinuteLimit {
  readonly perMinute: number;
  #minute = 0;
  #counts = new Map<string, number>();

  /** 0 means no limit. */
  constructor(perMinute: number) {
    this.perMinute = perMinute;
  }

  /** Counts a call; false if the call exceeds the limit. `now` is milliseconds since 1970. */
  count(key: string, now: number): boolean {
    if (this.perMinute === 0) return true;
    const minute = Math.floor(now / 60_000);
    if (minute !== this.#minute) {
      this.#minute = minute;
      this.#counts.clear();
    }
    const count = (this.#counts.get(key) ?? 0) + 1;
    this.#counts.set(key, count);
    return count <= this.perMinute;
  }
}

/** A received call, without its key. */
interface LoggedRequest {
  /** Time of the simulator's clock, in milliseconds since 1970. */
  readonly at: number;
  /** Time of a monotonic clock in milliseconds, for rates. */
  readonly elapsed: number;
  readonly method: string;
  readonly path: string;
  /** As received, still encoded, without the question mark. */
  readonly query: string;
  readonly kind: CallKind | undefined;
  readonly applicationId: number | undefined;
  readonly keyHeader: 'X-Api-Key' | 'Api-Key' | undefined;
  readonly keyValid: boolean;
  /** Calls in flight when this call arrived, including this call. */
  readonly concurrent: number;
  /** The requests of a GraphQL document, in its order; undefined for calls of the REST interface. */
  readonly operations?: readonly LoggedOperation[];
}

/** One request of a GraphQL document. */
export interface LoggedOperation {
  readonly kind: CallKind;
  /** The NRQL query, the search, or the guids; empty for accounts. */
  readonly text: string;
  /** Rows or entities in the response; undefined after a failure. */
  rows?: number;
  error?: string;
}

/** Logs received calls for tests and rehearsals. Keeps the newest calls as entries, and counts all calls. */
export class RequestLog {
  readonly #limit: number;
  #entries: LoggedRequest[] = [];
  byKind: Record<string, number> = {};
  /** The number of responses by status; `none` for connections that ended without a response. */
  statuses: Record<string, number> = {};
  /** The calls in flight now, and the maximum so far. */
  running = 0;
  maxConcurrency = 0;

  /** Keeps at least `limit` entries, and at most twice as many. */
  constructor(limit = 100_000) {
    this.#limit = limit;
  }

  /** Records a call. Call the returned function once when it ends, with the sent status if there is one. */
  begin(request: Omit<LoggedRequest, 'concurrent'>): (status?: number | 'none') => void {
    this.running += 1;
    this.maxConcurrency = Math.max(this.maxConcurrency, this.running);
    if (this.#entries.length >= 2 * this.#limit) this.#entries = this.#entries.slice(-this.#limit);
    this.#entries.push({ ...request, concurrent: this.running });
    const kind = request.kind ?? 'other';
    this.byKind[kind] = (this.byKind[kind] ?? 0) + 1;
    return (status = 'none') => {
      this.running -= 1;
      this.statuses[status] = (this.statuses[status] ?? 0) + 1;
    };
  }

  /** Lists the kept calls, oldest first, perhaps of one kind only. */
  all(kind?: CallKind): readonly LoggedRequest[] {
    const newest = this.#entries.slice(-this.#limit);
    return kind === undefined ? newest : newest.filter((entry) => entry.kind === kind);
  }

  /** Returns the number of calls, perhaps of one kind only. */
  count(kind?: CallKind | 'other'): number {
    if (kind !== undefined) return this.byKind[kind] ?? 0;
    return Object.values(this.byKind).reduce((sum, calls) => sum + calls, 0);
  }

  /** Returns the most calls that arrived within any `milliseconds`. */
  busiest(milliseconds = 60_000): number {
    const times = this.all().map(({ elapsed }) => elapsed);
    let first = 0;
    let highest = 0;
    times.forEach((time, index) => {
      while (time - (times[first] ?? time) >= milliseconds) first += 1;
      highest = Math.max(highest, index - first + 1);
    });
    return highest;
  }

  /** Counts the metric data calls by from/to pair. */
  ranges(): readonly { readonly from: string | null; readonly to: string | null; readonly calls: number }[] {
    const found = new Map<string, ReturnType<RequestLog['ranges']>[number]>();
    for (const { query } of this.all('metric_data')) {
      const parameters = new URLSearchParams(query);
      const [from, to] = [parameters.get('from'), parameters.get('to')];
      const key = JSON.stringify([from, to]);
      found.set(key, { from, to, calls: (found.get(key)?.calls ?? 0) + 1 });
    }
    return [...found.values()];
  }

  /** Forgets everything but the calls in flight. */
  clear(): void {
    this.#entries = [];
    this.byKind = {};
    this.statuses = {};
    this.maxConcurrency = this.running;
  }
}

/** The state of a running simulator: a world for each interface, the faults, the log of calls. */
export class SimulatorState {
  readonly faults = new FaultBook();
  readonly requests: RequestLog;
  readonly now: () => number;
  /** The world of the first account, for each interface. */
  readonly #worlds: Record<(typeof INTERFACES)[number], World>;
  /** The accounts that the key sees. All but the first have a world that only NerdGraph shows. */
  #accounts: { readonly id: number; name: string | null; world: World | undefined }[] = [];
  /** The number of accounts so far, including removed accounts. */
  #count = 1;

  constructor(world: World, now: () => number, accounts?: readonly AccountOptions[], loggedRequests?: number) {
    this.requests = new RequestLog(loggedRequests);
    this.#worlds = { rest: world, nerdgraph: world };
    this.now = now;
    for (const account of accounts ?? [{ id: world.options.accountId, name: 'Simulator' }]) this.addAccount(account);
  }

  /** The current world of the first account for REST. Every change replaces it. */
  get world(): World {
    return this.#worlds.rest;
  }

  /** The accounts that the key sees, as NerdGraph lists them. */
  get accounts(): readonly Pick<AccountOptions, 'id' | 'name'>[] {
    return this.#accounts.map(({ id, name }) => ({ id, name }));
  }

  /** Returns the world of an account for NerdGraph; undefined if the key does not see the account. */
  worldOf(accountId: number): World | undefined {
    const account = this.#accounts.find(({ id }) => id === accountId);
    return account && (account.world ?? this.#worlds.nerdgraph);
  }

  /** Adds an account with its own applications. */
  addAccount({ id, name, applications }: AccountOptions): void {
    const { options } = this.#worlds.rest;
    const isFirst = id === options.accountId;
    const changed = { accountId: id, accountIndex: this.#count, applications: applications ?? options.applications };
    if (!isFirst) this.#count += 1;
    this.#accounts.push({ id, name, world: isFirst ? undefined : createWorld({ ...options, ...changed }) });
  }

  /** Renames an account; false for an unknown account. */
  renameAccount(id: number, name: string | null): boolean {
    const account = this.#accounts.find((each) => each.id === id);
    if (account !== undefined) account.name = name;
    return account !== undefined;
  }

  /** Hides an account from the key; false for an unknown account. */
  removeAccount(id: number): boolean {
    const remaining = this.#accounts.filter((account) => account.id !== id);
    const isKnown = remaining.length < this.#accounts.length;
    this.#accounts = remaining;
    return isKnown;
  }

  /** A free account id. */
  get nextAccountId(): number {
    return Math.max(this.#worlds.rest.options.accountId, ...this.#accounts.map(({ id }) => id)) + 1;
  }

  /** Changes one application or key transaction from now on. Throws a ZodError on a bad change. */
  change(id: number, change: z.input<typeof CHANGE>): void {
    const { on, ...rest } = CHANGE.parse(change);
    const amendment = toAmendment(rest, firstIncompleteMinute(this.now()));
    for (const through of on === undefined ? INTERFACES : [on])
      this.#worlds[through] = this.#worlds[through].amend(id, amendment);
    this.#amendOthers(id, amendment);
  }

  /** Reverts all changes to one application or key transaction. */
  restore(id: number): void {
    for (const through of INTERFACES) this.#worlds[through] = this.#worlds[through].amend(id, undefined);
    this.#amendOthers(id, undefined);
  }

  #amendOthers(id: number, amendment: Amendment | undefined): void {
    for (const account of this.#accounts) account.world = account.world?.amend(id, amendment);
  }
}

export const NERDGRAPH_PATH = '/graphql';

/** The options of both interfaces. */
export interface ServiceOptions {
  readonly state: SimulatorState;
  readonly settings: ServiceSettings;
  readonly apiKeys: ReadonlySet<string>;
  /** The delay before every response, in milliseconds. */
  readonly latencyMs: number;
  /** Ends pauses when the simulator closes. */
  readonly signal: AbortSignal;
}

/** A call as its interface reads it. */
export interface ServiceCall extends FaultTarget {
  readonly path: string;
  /** As received, still encoded, without the question mark. */
  readonly search: string;
  /** The requests of a GraphQL document. */
  readonly operations?: readonly LoggedOperation[];
  readonly format: 'json' | 'xml';
  /** Creates the response; a fault may change it. */
  readonly respond: (rule: FaultRule | undefined) => ServiceResponse | Promise<ServiceResponse>;
}
