import { describe, expect, it } from 'vitest';
import { UpstreamError, type FailureReason } from '../../../src/api/upstreamError.ts';
import type { BatchRead, Outcome } from '../../../src/api/upstreamReader.ts';
import type { SimulatorOptions } from '../../../simulator/simulator.ts';
import { servicesOf } from './goldenSubjects.ts';
import { metricDataOf, METRICS, RANGE } from './nerdGraphReading.ts';
import { edit, say, startBetween, where, type Between, type Fault } from './proxy.ts';
import { readAll, valueOf } from '../support/reading.ts';

const RETRIES = 2;
const MINUTE = 60_000;

/** The result of a read: the value or the failure of each subject, or of each golden metric of an entity. */
type Given = ReadonlyMap<string, unknown>;

interface Reads {
  readonly read: () => Promise<Given>;
  /** True for the queries that fail. */
  readonly isStruck: (nrql: string) => boolean;
  /** True for subjects that must fail. */
  readonly isBad: (name: string) => boolean;
  /** The same where only whole entities fail, not their columns. */
  readonly isBadEntity?: (name: string) => boolean;
}

interface Place {
  readonly world: SimulatorOptions;
  readonly begin: (between: Between) => Promise<Reads> | Reads;
  /** Limits for the calls of the first failing read, and for the calls added to each later read, a minute apart. */
  readonly first: number;
  readonly more: number;
  /** Other limits for subjects that are too big, and where only whole entities fail. */
  readonly tooBig?: number;
  readonly byEntity?: { readonly first: number; readonly more: number };
}

const unwrap = (outcome: Outcome<unknown>): unknown => ('error' in outcome ? outcome.error : outcome.value);

async function readNamed<S, A>(
  { call }: Between,
  read: BatchRead<NoInfer<S>, A>,
  subjects: readonly S[],
  nameOf: (subject: S) => string | number,
): Promise<Given> {
  const outcomes = await readAll(read, subjects, RANGE, call);
  return new Map(subjects.map((subject, index) => [String(nameOf(subject)), unwrap(outcomes[index]!)]));
}

const idOf = (place: number): number => 1_000_000 + place;
const idsIn = (nrql: string): readonly string[] => nrql.match(/\b1000\d\d\d\b/g) ?? [];

const FLEETS: Readonly<Record<number, SimulatorOptions>> = Object.fromEntries(
  [1, 2, 16, 32].map((applications) => [applications, { applications, hostsPerApplication: 1, keyTransactions: 0 }]),
);

/** The calls of a read that halves batches: two for each step to each bad subject, and the first three. */
const halving = (bad: number, total: number): number => 3 + Math.min(2 * total, 2 * bad * Math.ceil(Math.log2(total)));

type Kind = 'metrics' | 'hosts' | 'rolling';

/** A read of `count` applications. The applications at the places `bad`, counted from 1, break queries. */
function applications(count: number, bad: readonly number[], kind: Kind = 'metrics'): Place {
  const names = new Set(bad.map((place) => String(idOf(place))));
  const ids = Array.from({ length: count }, (_, index) => idOf(index + 1));
  const subjects = ids.map((applicationId) => ({ applicationId }));
  return {
    world: FLEETS[count]!,
    begin: (between) => ({
      read: () => {
        const nameOf = ({ applicationId }: { readonly applicationId: number }): number => applicationId;
        if (kind === 'metrics') return readNamed(between, between.reader.metricData, metricDataOf(ids), nameOf);
        if (kind === 'hosts') return readNamed(between, between.reader.hosts, subjects, nameOf);
        return readNamed(between, between.reader.rolling!, subjects, nameOf);
      },
      isStruck: (nrql) => idsIn(nrql).some((id) => names.has(id)),
      isBad: (name) => names.has(name),
    }),
    first: halving(bad.length, count),
    more: bad.length,
  };
}

const every = (count: number, step: number): number[] =>
  Array.from({ length: Math.floor(count / step) }, (_, index) => (index + 1) * step);

const HOSTS = { applications: 2, hostsPerApplication: 20, keyTransactions: 0 };

/** The hosts of an application with one bad host, or of two applications, one with only bad hosts. */
function hosts(bad: number | 'all'): Place {
  return {
    world: HOSTS,
    begin: async (between) => {
      const { reader, call } = between;
      const applicationIds = bad === 'all' ? [idOf(1), idOf(2)] : [idOf(1)];
      const ofApplications = applicationIds.map((applicationId) => ({ applicationId }));
      const lists = (await readAll(reader.hosts, ofApplications, RANGE, call)).map(valueOf);
      const subjects = lists.flatMap((list, index) =>
        list.map(({ key }) => ({ ...ofApplications[index]!, hostKey: key, metrics: METRICS })),
      );
      const name = bad === 'all' ? '' : subjects[bad]!.hostKey;
      return {
        read: () => readNamed(between, reader.metricData, subjects, (_) => `${_.applicationId} ${_.hostKey}`),
        isStruck: (nrql) =>
          bad === 'all' ? nrql.includes(String(idOf(1))) : nrql.includes(`'${name}'`) || !/host (IN|=)/.test(nrql),
        isBad: (each) => each.startsWith(`${idOf(1)} ${name}`),
      };
    },
    first: bad === 'all' ? 3 + 12 : halving(1, 20),
    ...(bad === 'all' ? { tooBig: 3 + 20 * 5 } : {}),
    more: 1,
  };
}

/** The key transactions of an account. The third one breaks the query of their entities. */
const KEY_TRANSACTION: Place = {
  world: { applications: 4, hostsPerApplication: 1, keyTransactions: 8 },
  begin: async (between) => {
    const { reader, call } = between;
    const subjects = (await reader.listKeyTransactions({}, call)).map(({ id }) => ({ keyTransactionId: id }));
    const read = () => readNamed(between, reader.rolling!, subjects, (_) => _.keyTransactionId);
    await readNamed(between, reader.rolling!, subjects.slice(2, 3), (_) => _.keyTransactionId);
    const guid = between.asked.flatMap(({ nrql }) => /entity\.guid = '([^']+)'/.exec(nrql)?.[1] ?? [])[0]!;
    return {
      read,
      isStruck: (nrql) => nrql.includes(guid),
      isBad: (name) => name === String(subjects[2]!.keyTransactionId),
    };
  },
  first: halving(1, 8),
  more: 1,
};

const SERVICES = { applications: 40, hostsPerApplication: 1, keyTransactions: 0 };
/** The services of a read. Some have no errors, so a query for errors alone has no row for them. */
const SOME_SERVICES = 30;
const ERRORS = { name: 'errorRate', select: 'sum(apm.service.error.count)' };
/** Without this column, which counts, a query has no row of a service without errors. */
const RATE = { name: 'throughput', select: 'rate(count(apm.service.transaction.duration), 1 minute)' };

/** Golden metrics of services: a column, an entity, or a column of one entity breaks queries. */
function services(
  what: 'column' | 'entity' | 'column of entity' | 'all',
  bad: number,
  { name: badName, select } = ERRORS,
): Place {
  return {
    world: SERVICES,
    begin: async (between) => {
      const subjects = (await servicesOf(between)).slice(0, SOME_SERVICES);
      const { guid } = subjects[bad]!;
      const isBad = (text: string, column: string): boolean =>
        what === 'all' || ((what === 'column' || text.includes(guid)) && (what === 'entity' || text.includes(column)));
      return {
        read: async () => {
          const { goldenMetrics } = between.reader.entities!;
          const outcomes = await readAll(goldenMetrics, subjects, RANGE, between.call);
          return new Map(
            subjects.flatMap(({ columns, ...subject }, index) => {
              const outcome = outcomes[index]!;
              return columns.map(({ name }) => {
                const { failures = [], values = [] } = 'value' in outcome ? outcome.value : {};
                const column = 'error' in outcome ? outcome.error : new Map(failures).get(name);
                const value = values.find(({ metric }) => metric === name);
                // The sum of no errors is 0 in a row, and absent where there is no row.
                return [`${subject.guid} ${name}`, column ?? (value?.value || undefined)] as const;
              });
            }),
          );
        },
        isStruck: (nrql) => isBad(nrql, select),
        isBad: (name) => isBad(name, badName),
        isBadEntity: (name) => what === 'column' || what === 'all' || name.includes(guid),
      };
    },
    // The search for a bad entity runs in both halves of the columns.
    first: what === 'column' ? 10 : 2 * halving(1, SOME_SERVICES),
    // The entity and its separate parts. Without the rate each column is read alone.
    more: what === 'column' ? (select === RATE.select ? 4 : 1) : 4,
    // All queries fail, so the division ends after twelve.
    ...(what === 'column' ? { tooBig: 1 + 6 * SOME_SERVICES, byEntity: { first: 13, more: 13 } } : {}),
  };
}

const PLACES: Readonly<Record<string, Place>> = {
  'an application': applications(32, [17]),
  'its list of hosts': applications(32, [17], 'hosts'),
  'its rolling values': applications(32, [17], 'rolling'),
  'three applications': applications(32, [5, 17, 29]),
  'the first three applications': applications(32, [1, 2, 3]),
  'the last three applications': applications(32, [30, 31, 32]),
  'the first application of two': applications(2, [1]),
  'the second application of two': applications(2, [2]),
  'every second application': applications(16, every(16, 2)),
  'every third application': applications(16, every(16, 3)),
  'a host': hosts(7),
  'an application with all its hosts': hosts('all'),
  'a key transaction': KEY_TRANSACTION,
  'a column of golden metrics': services('column', 0),
  'the rate of golden metrics': services('column', 0, RATE),
  'an entity': services('entity', 17),
  'the first entity': services('entity', 0),
  'a column of one entity': services('column of entity', 17),
  'a column of the first entity': services('column of entity', 0),
};

const UNREADABLE = edit(({ results }) => results.push({ c: 1, t: 1, x: 1, mn: 1, mx: 1 }));
const answerWith =
  (body: object): Fault =>
  (response) => (response.end(JSON.stringify(body)), true);
const NULL_RESULT = answerWith({ data: { actor: { account: { nrql: null } } } });
const NULL_ACCOUNT = answerWith({ data: { actor: { account: null } } });
const REFUSED: Fault = (response) => {
  const extensions = { errorClass: 'SERVER_ERROR', errorCode: 'NRDB:1107005' };
  response.end(JSON.stringify({ data: null, errors: [{ message: 'Unknown function access()', extensions }] }));
  return true;
};

const REFUSALS: readonly (readonly [what: string, reason: FailureReason, fault: Fault])[] = [
  ['a missing permission', 'forbidden', say('no', 'ACCESS_DENIED')],
  ['a complaint about the query', 'other', say('no such function', 'INVALID_INPUT')],
  ['a refused query', 'other', REFUSED],
  ['a row without a readable facet', 'invalid_response', UNREADABLE],
  ['a null in place of the result', 'invalid_response', NULL_RESULT],
];

const AT_ONCE = [...REFUSALS, ['a timeout', 'timeout', say('slow', 'TIMEOUT')]] as const;

const PASSING: readonly (readonly [what: string, reason: FailureReason, fault: Fault])[] = [
  ['a connection that breaks', 'network', (response) => (response.destroy(), true)],
  ['an error of the server', 'server', say('oops', 'SERVER_ERROR')],
  ['words that it passes', 'server', say('Something went wrong while executing your query')],
  ['an error without a class', 'invalid_response', say('odd')],
  ['a null in place of the account', 'invalid_response', NULL_ACCOUNT],
  ['a page of a proxy', 'invalid_response', (response) => (response.end('<html>'), true)],
];

const TOO_BIG: readonly (readonly [what: string, fault: Fault])[] = [
  ['the words of New Relic', say('that query is a little too big')],
  ['rows that are left out', edit((answer) => (answer.otherResult = { c: 0.5 }))],
];

const INCOMPLETE = edit((answer) => (answer.metadata.messages = ['Results may be incomplete']));

const STOPPING: readonly (readonly [reason: FailureReason, fault: Fault])[] = [
  ['auth', say('x', 'BAD_API_KEY')],
  ['rate_limited', say('x', 'TOO_MANY_REQUESTS')],
];

async function begin(place: Place) {
  let now = 0;
  const between = await startBetween(place.world, { maxRetries: RETRIES, monotonic: () => now }, true);
  await between.reader.listApplications({}, between.call);
  const reads = await place.begin(between);
  const asked = between.asked.length;
  const whole = await reads.read();
  // A read of key transactions reads their applications too.
  const others = between.asked.length - asked - 1;
  const next = async () => {
    now += MINUTE;
    const before = between.asked.length;
    const values = await reads.read();
    return { values, calls: between.asked.length - before - others };
  };
  const strike = (fault: Fault | undefined): void => {
    between.fault = fault === undefined ? undefined : where(reads.isStruck, fault);
  };
  /** The expected result: the values of good subjects, and the failure of bad ones. */
  const expected = (reason: FailureReason, isBad = reads.isBad): Given =>
    new Map([...whole].map(([name, value]) => [name, isBad(name) ? reason : value]));
  return { between, whole, next, strike, expected, isBadEntity: reads.isBadEntity ?? reads.isBad };
}

const reasonsOf = (values: Given): Given =>
  new Map([...values].map(([name, value]) => [name, value instanceof UpstreamError ? value.failure.reason : value]));

/** Places that differ by position alone, so that one kind of fault is enough. */
const BY_POSITION = /^(?:the (?:first|second|last)|every|a column of the first)/;

describe.each(Object.entries(PLACES))('%s', (name, place) => {
  it.each(BY_POSITION.test(name) ? AT_ONCE.slice(-2) : AT_ONCE)(
    'that breaks queries by %s fails alone, is read alone from then on, and recovers after one good read',
    async (_, reason, fault) => {
      const { next, strike, expected, isBadEntity } = await begin(place);
      strike(fault);
      const isTimeout = reason === 'timeout';
      const { first, more } = (isTimeout ? place.byEntity : undefined) ?? place;
      for (const most of [first, 1 + more]) {
        const { values, calls } = await next();
        expect(reasonsOf(values)).toEqual(isTimeout ? expected(reason, isBadEntity) : expected(reason));
        expect(calls).toBeLessThanOrEqual(most);
      }
      strike(undefined);
      for (const most of [1 + more, 1]) {
        const { values, calls } = await next();
        expect(reasonsOf(values)).toEqual(expected(reason, () => false));
        expect(calls).toBeLessThanOrEqual(most);
      }
    },
  );

  it.each(BY_POSITION.test(name) ? PASSING.slice(0, 1) : PASSING)(
    'that breaks queries by %s fails with its batch twice, and alone from the third read on',
    async (_, reason, fault) => {
      const { next, strike, expected, isBadEntity } = await begin(place);
      const { first, more } = place.byEntity ?? place;
      strike(fault);
      const isRetried = reason !== 'invalid_response';
      for (let reads = 0; reads < 2; reads += 1) {
        const { values, calls } = await next();
        expect(reasonsOf(values)).toEqual(expected(reason, () => true));
        expect(calls).toBe(isRetried ? 1 + RETRIES : 1);
      }
      for (const most of [first, 1 + more]) {
        const { values, calls } = await next();
        expect(reasonsOf(values)).toEqual(expected(reason, isBadEntity));
        expect(calls).toBeLessThanOrEqual(most);
      }
    },
  );

  it('whose data a message calls incomplete fails alone, and not by its metrics', async () => {
    const { next, strike, expected, isBadEntity } = await begin(place);
    const { first, more } = place.byEntity ?? place;
    strike(INCOMPLETE);
    for (const most of [first, 1 + more]) {
      const { values, calls } = await next();
      expect(reasonsOf(values)).toEqual(expected('too_large', isBadEntity));
      expect(calls).toBeLessThanOrEqual(most);
    }
  });

  // Without the rate, a query drops the rows of services without errors anyway.
  it.each(name.startsWith('the rate') ? [] : TOO_BIG)(
    'that is too big by %s fails alone, and is read in parts from then on',
    async (_, fault) => {
      const { next, strike, expected } = await begin(place);
      strike(fault);
      // A subject that is too big is tried with half of its metrics, a quarter, ...: at most four queries a minute.
      const first = place.tooBig ?? place.first + 6 * place.more;
      for (const most of [first, 1 + (place.tooBig ?? 4 * place.more)]) {
        const { values, calls } = await next();
        expect(reasonsOf(values)).toEqual(expected('too_large'));
        expect(calls).toBeLessThanOrEqual(most);
      }
    },
  );

  it.each(STOPPING)(
    'with a query answered by %s fails with its batch, and the batch is not split',
    async (reason, fault) => {
      const { next, strike, expected } = await begin(place);
      for (const each of [fault, fault, undefined]) {
        strike(each);
        const { values, calls } = await next();
        expect(reasonsOf(values)).toEqual(expected(reason, () => each !== undefined));
        expect(calls).toBe(1);
      }
    },
  );
});

describe('a batch that fails as a whole', () => {
  it.each([
    ['the only application', applications(1, [1])],
    ['applications', applications(16, every(16, 1))],
    ['lists of hosts', applications(16, every(16, 1), 'hosts')],
    ['rolling values', applications(16, every(16, 1), 'rolling')],
    ['golden metrics', services('all', 0)],
  ])('costs at most thirteen queries, and recovers as soon as New Relic answers: %s', async (what, place) => {
    for (const [kind, reason, fault] of AT_ONCE) {
      const isOne = what === 'the only application';
      const { next, strike, expected } = await begin(place);
      strike(fault);
      for (let reads = 0; reads < 3; reads += 1) {
        const { values, calls } = await next();
        expect(reasonsOf(values), kind).toEqual(expected(reason));
        expect(calls, kind).toBeLessThanOrEqual(isOne ? 1 + RETRIES : 13);
      }
      strike(undefined);
      const { values, calls } = await next();
      expect(reasonsOf(values), kind).toEqual(expected(reason, () => false));
      expect(calls, kind).toBe(1);
    }
  });
});
