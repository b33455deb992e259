import { describe, expect, it } from 'vitest';
import { RANGE } from './nerdGraphReading.ts';
import { startBetween, type Fault } from './proxy.ts';

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
const ALL = { applications: 20 };

describe('a field of the list of applications that failed', () => {
  it.each([
    ['tags'],
    ['reporting'],
    ['alertSeverity'],
    ['language'],
    ['apmSummary'],
    ['settings'],
    ['name'],
    ['applicationId'],
    ['applicationId', 'tags', 'reporting'],
  ])('keeps what it said before, and is one failure: %s', async (...fields) => {
    const between = await startBetween(ALL);
    const { reader, call, notes } = between;
    const before = await reader.listApplications({}, call);
    const place = before.findIndex(({ reporting }) => reporting === false);
    expect(place).toBeGreaterThan(0);
    between.fault = failing(place, ...fields);
    expect(await reader.listApplications({}, call)).toEqual(before);
    expect(notes.failures.map(({ reason }) => reason)).toEqual(['server']);
    // A reader that replaces it knows.
    const next = between.replace();
    expect(await next.reader.listApplications({}, next.call)).toEqual(before);
    between.fault = undefined;
    expect(await reader.listApplications({}, call)).toEqual(before);
    expect(notes.failures).toHaveLength(1);
  });

  it.each([
    ['apmSummary', 'hostCount'],
    ['settings', 'serverSideConfig'],
    ['tags', 0, 'values'],
  ])('keeps what it said before where only a part of it failed: %s %s', async (field, ...part) => {
    const between = await startBetween(WORLD);
    const { reader, call, notes } = between;
    const before = await reader.listApplications({}, call);
    between.fault = failing(1, [field, ...part]);
    expect(await reader.listApplications({}, call)).toEqual(before);
    expect(notes.failures.map(({ reason }) => reason)).toEqual(['server']);
  });

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

describe('a field of the list of key transactions that failed', () => {
  it.each([['tags'], ['reporting'], ['alertSeverity'], ['name']])(
    'keeps what it said before, and is one failure: %s',
    async (field) => {
      const between = await startBetween(WORLD);
      const { reader, call, notes } = between;
      const before = await reader.listKeyTransactions({}, call);
      between.fault = failing(0, field);
      expect(await reader.listKeyTransactions({}, call)).toEqual(before);
      expect(notes.failures.map(({ reason }) => reason)).toEqual(['server']);
    },
  );
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
      const planned = entities.goldenMetrics.plan(
        [{ type: 'EXT-SERVICE', guid, columns: [], unread, window: undefined, endsBefore: 0 }],
        RANGE,
      );
      expect(await planned.read(call)).toEqual([{ error: unread }]);
    }
    expect(notes.failures.map(({ reason }) => reason)).toEqual(['server', 'server']);
    between.fault = undefined;
    const [first, second] = await entities.list('EXT-SERVICE', call);
    expect(first).toMatchObject({ metrics: second!.metrics, unread: undefined });
  });

  it.each([['tags'], ['reporting'], ['name'], ['goldenMetrics']])(
    'keeps what it said before, also in a reader that replaces this one, and is one failure: %s',
    async (field) => {
      const between = await startBetween(ALL);
      const { reader, call, notes } = between;
      const before = await reader.entities?.list('EXT-SERVICE', call);
      between.fault = failing(0, field);
      expect(await reader.entities?.list('EXT-SERVICE', call)).toEqual(before);
      expect(notes.failures.map(({ reason }) => reason)).toEqual(['server']);
      const next = between.replace();
      expect(await next.reader.entities?.list('EXT-SERVICE', next.call)).toEqual(before);
    },
  );
});
