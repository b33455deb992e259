import type { Group } from '../metrics/sample.ts';
import type { Entity, Kind } from './entity.ts';
import type { AccountContext } from './selection.ts';

/** What an answer is about: all of it, some groups, one account, or one application. */
export interface Scope {
  readonly groups: ReadonlySet<Group>;
  readonly account?: string;
  readonly applicationId?: number;
  /** True: the groups' lists only, as the command line tools need them, no metric data. */
  readonly listsOnly?: boolean;
}

/** What must be kept up to date besides a group itself: the lists its entities come from. */
const NEEDS: Readonly<Record<Group, readonly Group[]>> = {
  applications: [],
  key_transactions: ['applications'],
  metric_names: ['applications'],
  application_metrics: ['applications', 'metric_names'],
  hosts: ['applications'],
  host_metrics: ['applications', 'metric_names', 'hosts'],
  instances: ['applications'],
  custom_metrics: ['applications'],
  queries: [],
};

/** Custom metrics are read with the data of what they are about. */
const DATA_OF = { application: 'application_metrics', host: 'host_metrics' } as const satisfies Record<string, Group>;

/**
 * What must have been read once: the names a metric data call asks for, and the application's data, which decides the
 * database kind of its hosts.
 */
const NEEDS_ONCE: Readonly<Partial<Record<Group, readonly Group[]>>> = {
  application_metrics: ['custom_metrics'],
  host_metrics: ['application_metrics', 'custom_metrics'],
};

const ROLLING: ReadonlySet<Kind> = new Set<Kind>(['application_rolling', 'host_rolling', 'key_transaction_rolling']);

/** What a scope asks of an account: which groups to keep up to date, and which only until they have been tried once. */
export interface Needs {
  readonly always: ReadonlySet<Group>;
  readonly once: ReadonlySet<Group>;
  /** The groups whose rolling values are asked for: not those that are needed for their list only. */
  readonly rolling: ReadonlySet<Group>;
}

/** The groups to refresh for a scope's groups. A group that the account's interface does not have needs nothing. */
export function neededGroups(
  { groups, listsOnly }: Pick<Scope, 'groups' | 'listsOnly'>,
  { reader, customMetrics }: Pick<AccountContext, 'reader' | 'customMetrics'>,
): Needs {
  const asked = [...groups].filter((group) => group !== 'metric_names' || reader.datastores !== undefined);
  if (listsOnly === true) return { always: new Set(asked), once: new Set(), rolling: new Set() };
  const scopes = groups.has('custom_metrics') ? customMetrics.map(({ definition }) => definition.scope) : [];
  const read = [...new Set([...asked, ...scopes.map((scope) => DATA_OF[scope])])];
  return {
    always: new Set(read.flatMap((group) => [group, ...NEEDS[group]])),
    once: new Set(read.flatMap((group) => NEEDS_ONCE[group] ?? [])),
    rolling: new Set(asked),
  };
}

/**
 * True for what the scope's groups are made of, and for what they need to have been read once.
 *
 * @param known true when it has been read once, or tried and given up
 */
export function covers({ always, once, rolling }: Needs, scope: Scope, entity: Entity, known: boolean): boolean {
  const { group, kind, subject } = entity;
  if (ROLLING.has(kind) ? !rolling.has(group) : !always.has(group) && !(once.has(group) && !known)) return false;
  return coversApplication(scope, subject.applicationId);
}

/** The groups whose lists are of the account, not of an application. */
const LISTS_OF_ACCOUNT: ReadonlySet<Group> = new Set<Group>(['applications', 'key_transactions']);

/** True when the scope needs nothing that belongs to an application. */
export function asksForListsOfAccount({ groups, listsOnly }: Scope): boolean {
  return listsOnly === true && [...groups].every((group) => LISTS_OF_ACCOUNT.has(group));
}

/** True when the scope takes in this application; undefined is a list of the whole account. */
export function coversApplication(scope: Scope, applicationId: number | undefined): boolean {
  return scope.applicationId === undefined || applicationId === undefined || scope.applicationId === applicationId;
}

/**
 * One refresh of one account, shared by all that ask for the same scope. It goes on behind when nobody waits any more: what
 * is unlocked by what it has asked for is asked for, too. All times are milliseconds of the monotonic clock.
 */
export class Refresh {
  readonly scope: Scope;
  needs: Needs;
  /** When it was asked for last: what becomes due later is not its work. */
  askedAt = -Infinity;
  /** How many askings are under way: until they have ended, it is not known what it waits for. */
  asking = 0;
  /** The window for which all of the scope is being asked for, so that what is added is waited for by all who wait now. */
  askingForAll: number | undefined;
  readonly #context: AccountContext;
  /** What those who wait for it wait for. It is gone with the last of them; the work goes on. */
  #waiting:
    | {
        readonly since: number;
        readonly pending: Set<Entity>;
        readonly byKind: Map<Kind, number>;
        readonly waiters: Set<() => void>;
        entities: number;
        failed: number;
      }
    | undefined;

  constructor(scope: Scope, context: AccountContext) {
    this.scope = scope;
    this.#context = context;
    this.needs = neededGroups(scope, context);
  }

  /** The scope as a text: refreshes of one key are one. */
  static keyOf({ groups, applicationId, listsOnly }: Scope): string {
    return JSON.stringify([[...groups].sort(), applicationId, listsOnly]);
  }

  /** Somebody asks for it, for the first time or once more. */
  ask(): void {
    this.askedAt = this.#context.clock.monotonic();
    this.needs = neededGroups(this.scope, this.#context);
  }

  /** True while somebody waits for it. */
  get isWaitedFor(): boolean {
    return this.#waiting !== undefined;
  }

  /** True when nothing is left of what somebody waits for. */
  get isOver(): boolean {
    return this.asking === 0 && (this.#waiting === undefined || this.#waiting.pending.size === 0);
  }

  /** How many entities of each kind it still waits for. */
  get leftByKind(): ReadonlyMap<Kind, number> {
    return this.#waiting?.byKind ?? new Map();
  }

  /** It waits for an entity. */
  add(entity: Entity): void {
    const waiting = this.#waiting;
    if (waiting === undefined || waiting.pending.has(entity)) return;
    waiting.pending.add(entity);
    waiting.byKind.set(entity.kind, (waiting.byKind.get(entity.kind) ?? 0) + 1);
    waiting.entities += 1;
  }

  /** An entity has ended, or is waited for no longer. */
  ended(entity: Entity, failed: boolean): void {
    const waiting = this.#waiting;
    if (waiting?.pending.delete(entity) !== true) return;
    waiting.byKind.set(entity.kind, (waiting.byKind.get(entity.kind) ?? 0) - 1);
    if (failed) waiting.failed += 1;
  }

  /** It waits for nothing any more. */
  giveUp(): void {
    for (const entity of this.#waiting?.pending ?? []) this.ended(entity, false);
  }

  /** Has those who wait look whether they may go. */
  notify(): void {
    for (const look of [...(this.#waiting?.waiters ?? [])]) look();
  }

  /**
   * Waits until it is over, the deadline is reached, the work cannot end before it, or the signal is aborted. What is added
   * from now on is waited for; the caller begins to ask for it at once.
   *
   * @returns whether it is over, and, for the last of those who waited, what it came to
   */
  async wait(deadline: number, canEnd: () => boolean, signal: AbortSignal | undefined) {
    const { clock } = this.#context;
    if (this.#waiting === undefined) this.askingForAll = undefined;
    const waiting = (this.#waiting ??= {
      since: clock.monotonic(),
      pending: new Set(),
      byKind: new Map(),
      waiters: new Set(),
      entities: 0,
      failed: 0,
    });
    await new Promise<void>((resolve) => {
      let cancel: (() => void) | undefined;
      const go = (): void => {
        waiting.waiters.delete(look);
        cancel?.();
        signal?.removeEventListener('abort', go);
        resolve();
      };
      // While more is being asked for, nobody knows yet whether it can end.
      const look = (): void => {
        if (this.asking === 0 && (this.isOver || !canEnd())) go();
      };
      waiting.waiters.add(look);
      signal?.addEventListener('abort', go, { once: true });
      if (deadline !== Infinity) cancel = clock.after(deadline - clock.monotonic(), go);
      if (clock.monotonic() >= deadline || signal?.aborted === true) go();
    });
    const { isOver } = this;
    if (waiting.waiters.size > 0 || this.#waiting !== waiting) return { isOver, cameTo: undefined };
    this.#waiting = undefined;
    const { entities, failed, pending, since } = waiting;
    const seconds = Math.max(0, clock.monotonic() - since) / 1000;
    return { isOver, cameTo: { entities, failed, left: pending.size, seconds } };
  }
}
