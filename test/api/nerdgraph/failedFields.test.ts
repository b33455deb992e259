import { describe, expect, it } from 'vitest';
import { RANGE } from './nerdGraphReading.ts';
import { startBetween, type Fault } from './proxy.ts';
import type { Reading } from '../support/reading.ts';

type Entity = Record<string, unknown>;
interface Page {
  readonly data: { readonly actor: { readonly entitySearch: { readonly results: { readonly entities: Entity[] } } } };
}

const PATH = ['actor', 'entitySearch', 'results', 'entities'];

/** A field of an entity, or the path to a part of the field. */
type Field = string | readonly (string | number)[];

/** Sets these fields of one entity to null, with an error on the path of each, like a failed field of New Relic. */
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
/** A world with every archetype of applications. The archetype "Legacy ERP" does not report. */
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

describe.each(LISTS)('a failed field, or a part of it, in a list of %s', (what, list, failures) => {
  it.each(failures.map((fields) => ({ fields })))(
    'keeps its previous value, also in a replacing reader, and is one failure: $fields',
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

describe('a failed field in the list of applications', () => {
  it('does not affect other fields: a deprecated field has its new value', async () => {
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

  it('is unknown where it was never read: failed tags are not empty tags', async () => {
    const between = await startBetween(WORLD);
    between.fault = failing(1, 'tags');
    const list = await between.reader.listApplications({}, between.call);
    expect(list.map(({ tags }) => tags === undefined)).toEqual([false, true, false]);
    expect(between.notes.failures).toHaveLength(1);
  });

  it('leaves out an application that was never read, and no other application', async () => {
    const between = await startBetween(WORLD);
    between.fault = failing(1, 'applicationId');
    const list = await between.reader.listApplications({}, between.call);
    expect(list.map(({ id }) => id)).toEqual([1_000_001, 1_000_003]);
    expect(between.notes.failures.length).toBeGreaterThan(0);
  });
});

describe('a failed field in a list of entities', () => {
  it.each([
    ['the field', ['goldenMetrics']],
    ['a part of one, such as its condition', ['goldenMetrics', 'metrics', 0, 'definition', 'where']],
  ])('that was never read makes reads of its entity fail until it is read: golden metrics (%s)', async (_, field) => {
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

  it('of an unreadable golden metric is left out of each list, and reported each time', async () => {
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
