import { describe, expect, it } from 'vitest';
import { RANGE } from './nerdGraphReading.ts';
import { startBetween, type Fault } from './proxy.ts';
import type { Reading } from '../support/reading.ts';

type Entity = Record<string, unknown>;
interface Page {
  readonly data: { readonly actor: { readonly entitySearch: { readonly results: { readonly entities: Entity[] } } } };
}

const PATH = ['actor', 'entitySearch', 'results', 'entities'];

/** A field of an entity, or the path to a part of it. */
type Field = string | readonly (string | number)[];

/** Each of these fields of the entity at a place is null, with an error on its path, as the service fails a field. */
const failing =
  (place: number, ...fields: readonly Field[]): Fault =>
  (response, { text }, good) => {
    if (!text.includes('entitySearch')) return false;
    const body = JSON.parse(good) as Page;
    const errors = fields.map((field) => {
      const way = [field].flat();
      let owner = body.data.actor.entitySearch.results.entities[place];
      for (const name of way.slice(0, -1)) owner = owner?.[name] as Entity | undefined;
      if (owner !== undefined) owner[way.at(-1) ?? ''] = null;
      const message = 'An error occurred resolving this field';
      return { message, path: [...PATH, place, ...way], extensions: { errorClass: 'SERVER_ERROR' } };
    });
    response.end(JSON.stringify({ ...body, errors }));
    return true;
  };

const WORLD = { applications: 3, keyTransactions: 3 };
/** Those of every archetype: one of them does not report. */
const ALL = { applications: 20, keyTransactions: 3 };

type List = (reading: Reading) => Promise<readonly { readonly reporting?: boolean | undefined }[]>;
const LISTS: readonly (readonly [what: string, list: List, failures: readonly (readonly Field[])[]])[] = [
  [
    'applications',
    ({ reader, call }) => reader.listApplications({}, call),
    [
      ...[['tags'], ['reporting'], ['alertSeverity'], ['language'], ['apmSummary'], ['settings'], ['name']],
      ...[['applicationId'], ['applicationId', 'tags', 'reporting']],
      ...[[['apmSummary', 'hostCount']], [['settings', 'serverSideConfig']], [['tags', 0, 'values']]],
    ],
  ],
  [
    'key transactions',
    ({ reader, call }) => reader.listKeyTransactions({}, call),
    [['tags'], ['reporting'], ['alertSeverity'], ['name']],
  ],
  [
    'entities',
    ({ reader, call }) => reader.entities!.list('EXT-SERVICE', call),
    [['tags'], ['reporting'], ['name'], ['goldenMetrics']],
  ],
];

describe.each(LISTS)('a field of the list of %s that failed, or a part of it', (what, list, failures) => {
  it.each(failures.map((fields) => ({ fields })))(
    'keeps what it said before, also in a reader that replaces this one, and is one failure: $fields',
    async ({ fields }) => {
      const between = await startBetween(ALL);
      const { notes } = between;
      const before = await list(between);
      const silent = before.findIndex(({ reporting }) => reporting === false);
      if (what === 'applications') expect(silent).toBeGreaterThan(0);
      // An application that does not report has no parts.
      between.fault = failing(fields.some((field) => Array.isArray(field)) ? 1 : Math.max(0, silent), ...fields);
      expect(await list(between)).toEqual(before);
      expect(notes.failures.map(({ reason }) => reason)).toEqual(['server']);
      expect(await list(between.replace())).toEqual(before);
      between.fault = undefined;
      expect(await list(between)).toEqual(before);
      expect(notes.failures).toHaveLength(1);
    },
  );
});

describe('a field of the list of applications that failed', () => {
  it('takes no other with it: a field that New Relic calls deprecated has its new value', async () => {
    const between = await startBetween(WORLD);
    const { reader, call } = between;
    const [before] = await reader.listApplications({}, call);
    const errors = [
      { message: 'An error occurred resolving this field', path: [...PATH, 0, 'tags'] },
      { message: 'This field is deprecated! Use another.', path: [...PATH, 0, 'name'] },
    ];
    between.fault = (response, _, good) => {
      const body = JSON.parse(good.replace(`"${before!.name}"`, '"Renamed"')) as Page;
      response.end(JSON.stringify({ ...body, errors }));
      return true;
    };
    expect((await reader.listApplications({}, call))[0]).toEqual({ ...before, name: 'Renamed' });
  });

  it('is not known where it was never read: tags that failed are no empty ones', async () => {
    const between = await startBetween(WORLD);
    between.fault = failing(1, 'tags');
    const list = await between.reader.listApplications({}, between.call);
    expect(list.map(({ tags }) => tags === undefined)).toEqual([false, true, false]);
    expect(between.notes.failures).toHaveLength(1);
  });

  it('of an application that was never read leaves it out, and fails none of the others', async () => {
    const between = await startBetween(WORLD);
    between.fault = failing(1, 'applicationId');
    const list = await between.reader.listApplications({}, between.call);
    expect(list.map(({ id }) => id)).toEqual([1_000_001, 1_000_003]);
    expect(between.notes.failures.length).toBeGreaterThan(0);
  });
});

describe('a field of a list of entities that failed', () => {
  it.each([
    ['the field', ['goldenMetrics']],
    ['a part of one, such as its condition', ['goldenMetrics', 'metrics', 0, 'definition', 'where']],
  ])('and was never read fails what is read of it, until it is read: golden metrics (%s)', async (_, field) => {
    const between = await startBetween(ALL);
    const { reader, call, notes } = between;
    const entities = reader.entities!;
    for (const fault of [failing(0, field), failing(0, field)]) {
      between.fault = fault;
      const [first, second] = await entities.list('EXT-SERVICE', call);
      expect(first).toMatchObject({ metrics: [], unread: { failure: { reason: 'server' } } });
      expect(second!.unread).toBeUndefined();
      expect(second!.metrics.length).toBeGreaterThan(0);
      const { guid, unread } = first!;
      const subject = { type: 'EXT-SERVICE', guid, columns: [], unread, window: undefined, endsBefore: 0 };
      expect(await entities.goldenMetrics.read([subject], RANGE, call)).toEqual([{ error: unread }]);
    }
    expect(notes.failures.map(({ reason }) => reason)).toEqual(['server', 'server']);
    between.fault = undefined;
    const [first, second] = await entities.list('EXT-SERVICE', call);
    expect(first).toMatchObject({ metrics: second!.metrics, unread: undefined });
  });

  it('is left out of each list, and reported each time, where it is a golden metric that cannot be read', async () => {
    const between = await startBetween(ALL);
    between.fault = (response, { text }, good) => {
      if (!text.includes('entitySearch')) return false;
      const body = JSON.parse(good) as Page;
      const [{ goldenMetrics } = {}] = body.data.actor.entitySearch.results.entities;
      (goldenMetrics as { metrics: Entity[] }).metrics[0]!['title'] = 7;
      response.end(JSON.stringify(body));
      return true;
    };
    for (const failures of [1, 2]) {
      const [first, second, third] = await between.reader.entities!.list('EXT-SERVICE', between.call);
      expect(first!.metrics).toEqual(second!.metrics.slice(1));
      expect(third!.metrics).toBe(second!.metrics);
      expect(between.notes.failures).toHaveLength(failures);
    }
  });
});
