import { describe, expect, it, onTestFinished } from 'vitest';
import { application, failureOf, readOne, serve } from '../support/reading.ts';
import { json, startServer } from '../support/testServer.ts';
import type { Responder } from '../support/testServer.ts';

const ids = (records: readonly { id: number }[]): number[] => records.map(({ id }) => id);
const page = (...numbers: number[]): unknown => ({ applications: numbers.map((id) => application(id)) });
const link = (target: string): Record<string, string> => ({ link: `<${target}>; rel="next"` });

/** Answers with these bodies in order. Each names the next page, except the last one. */
const pagesOf =
  (...bodies: unknown[]): Responder =>
  (response, { url }) => {
    const number = Number(url.searchParams.get('page') ?? '1');
    json(response, bodies[number - 1], number < bodies.length ? link(`${url.pathname}?page=${number + 1}`) : {});
  };

describe('a list over several pages', () => {
  it('is read to its end, with each page as a call of the budget', async () => {
    const { server, reader, call, notes } = await serve(pagesOf(page(1, 2), page(3, 4), page(5)));
    expect(ids(await reader.listApplications({}, call))).toEqual([1, 2, 3, 4, 5]);
    expect(server.asked.map(({ path }) => path)).toEqual([
      '/v2/applications.json',
      '/v2/applications.json?page=2',
      '/v2/applications.json?page=3',
    ]);
    expect(notes.entered).toBe(3);
    expect(notes.most).toBe(1);
    expect(notes.started).toEqual(Array(3).fill('/applications.json'));
  });

  it('has the last read version of a record that moved between pages', async () => {
    const before = { applications: [application(1), application(2)] };
    const after = { applications: [{ ...application(2), health_status: 'red' }, application(3)] };
    const { reader, call } = await serve(pagesOf(before, after));
    const list = await reader.listApplications({}, call);
    expect(list.map(({ id, healthStatus }) => [id, healthStatus])).toEqual([
      [1, 'green'],
      [2, 'red'],
      [3, 'green'],
    ]);
  });

  it('keeps an application that moved to a page already read, while reads by its id return it', async () => {
    const first = Array.from({ length: 200 }, (_, index) => index + 1);
    const moved = [page(...first.with(4, 203)), page(202)];
    const bodies = [page(...first), page(201, 202), ...moved, page(201), ...moved, page()];
    const { server, reader, call } = await serve((response, { url }, index) =>
      json(response, bodies[index], [0, 2, 5].includes(index) ? link(`${url.pathname}?page=2`) : {}),
    );
    await reader.listApplications({}, call);
    expect(ids(await reader.listApplications({}, call))).toEqual([...first.with(4, 203), 202, 201]);
    expect(server.asked[4]?.url.searchParams.get('filter[ids]')).toBe('5,201');
    // The read by its id no longer returns the application.
    expect(ids(await reader.listApplications({}, call))).toEqual([...first.with(4, 203), 202]);
    expect(server.asked[7]?.url.searchParams.get('filter[ids]')).toBe('201');
  });

  it('reads at most 200 missing applications by id, and fails until these reads succeed', async () => {
    const all = Array.from({ length: 402 }, (_, index) => index + 1);
    const [later, missing] = [page(...all.slice(200)), page(...all.slice(0, 200))];
    const bodies = [page(...all), page(1, 2), page(...all), later, {}, later, missing];
    const { server, reader, call } = await serve((response, _, index) => json(response, bodies[index]));
    for (const listed of [402, 2, 402]) expect(await reader.listApplications({}, call)).toHaveLength(listed);
    await failureOf(reader.listApplications({}, call));
    expect(await reader.listApplications({}, call)).toHaveLength(402);
    expect(server.asked).toHaveLength(7);
  });

  it('fails beyond 40,000 records without reading on', async () => {
    const { server, reader, call } = await serve((response, { url }, index) => {
      const records = Array.from({ length: 5_000 }, (_, place) => 5_000 * index + place + 1);
      json(response, page(...records), link(`${url.pathname}?page=${index + 2}`));
    });
    expect((await failureOf(reader.listApplications({}, call))).failure.reason).toBe('too_large');
    expect(server.asked).toHaveLength(9);
  });

  it.each([
    [4_999, 'good'],
    [5_000, 'good'],
    [5_001, 'too_large'],
  ])('with a page of %d records is %s', async (count, end) => {
    const all = Array.from({ length: count }, (_, index) => index + 1);
    const { reader, call } = await serve(pagesOf(page(...all)));
    const list = reader.listApplications({}, call);
    if (end === 'good') expect(await list).toHaveLength(count);
    else expect((await failureOf(list)).failure.reason).toBe(end);
  });

  it('ends with a page past the end, although that page names a next one', async () => {
    const { server, reader, call } = await serve(pagesOf(page(1), page(), page(9)));
    expect(ids(await reader.listApplications({}, call))).toEqual([1]);
    expect(server.asked).toHaveLength(2);
  });

  it('reads the link from several headers', async () => {
    const { reader, call } = await serve((response, _, index) => {
      if (index === 0) response.setHeader('link', ['<?page=1>; rel="first"', '<?page=2>; rel="next"']);
      json(response, page(index + 1));
    });
    expect(ids(await reader.listApplications({}, call))).toEqual([1, 2]);
  });

  it('fails as a whole when any page fails', async () => {
    const { reader, call } = await serve((response, asked, index) =>
      index === 1 ? json(response, '', {}, 404) : pagesOf(page(1), page(2), page(3))(response, asked, index),
    );
    expect((await failureOf(reader.listApplications({}, call))).failure.reason).toBe('not_found');
  });

  it('retries a failed page, not the list', async () => {
    const { server, reader, call } = await serve(
      (response, asked, index) =>
        index === 1 ? json(response, '', {}, 500) : pagesOf(page(1), page(2))(response, asked, index),
      { maxRetries: 1 },
    );
    expect(ids(await reader.listApplications({}, call))).toEqual([1, 2]);
    expect(server.asked.map(({ path }) => path.split('?')[1])).toEqual([undefined, 'page=2', 'page=2']);
  });

  it('never follows a next link to another origin, where the key must not go', async () => {
    const other = await startServer((response) => json(response, page(2)));
    onTestFinished(() => other.close());
    const { reader, call } = await serve((response) =>
      json(response, page(1), link(`${other.origin}/v2/applications.json?page=2`)),
    );
    const { failure, message } = await failureOf(reader.listApplications({}, call));
    expect(failure.reason).toBe('invalid_response');
    expect(message).toBe(
      'GET /applications.json: page 1: its next page is on another origin (reason invalid_response)',
    );
    expect(other.connections()).toBe(0);
  });

  it.each<[string, Responder, RegExp, number]>([
    [
      'to a page already read',
      (response, _, index) => json(response, page(index), link('?page=2')),
      /repeats an earlier page/,
      2,
    ],
    [
      'back to its first page',
      (response, _, index) => json(response, page(index), link('/v2/applications.json')),
      /page 1: the link to its next page repeats an earlier page/,
      1,
    ],
    [
      'to ever new pages with the same records',
      (response, _, index) => json(response, page(1), link(`?page=${index + 2}`)),
      /pages 2 to 4 repeat/,
      4,
    ],
  ])('fails when the next link leads %s', async (_, answer, words, calls) => {
    const { server, reader, call, notes } = await serve((response, asked, index) => answer(response, asked, index + 1));
    const { failure, message } = await failureOf(reader.listApplications({}, call));
    expect(failure.reason).toBe('invalid_response');
    expect(message).toMatch(words);
    expect(server.asked).toHaveLength(calls);
    expect(notes.failures).toHaveLength(1);
  });

  it('gives up after 200 pages', async () => {
    const { server, reader, call } = await serve((response, _, index) =>
      json(response, page(index + 1), link(`?page=${index + 2}`)),
    );
    const { failure, message } = await failureOf(reader.listApplications({}, call));
    expect(failure.reason).toBe('too_large');
    expect(message).toContain('does not end within 200 pages');
    expect(server.asked).toHaveLength(200);
  });
});

describe('metric names', () => {
  const entry = (name: string): unknown => ({ name, values: ['call_count'] });
  /** Four pages by cursor, like those of New Relic. */
  const answer: Responder = (response, { url }) => {
    const pageNumber = Number(url.searchParams.get('cursor') ?? '1');
    const next = {
      link: `<${url.pathname}?page=${pageNumber + 1}&cursor=${pageNumber < 4 ? pageNumber + 1 : ''}>; rel="next"`,
    };
    json(response, { metrics: [entry(`m${pageNumber}`), entry('everywhere')] }, next);
  };

  it('are read by cursor without the page number, with the name filter, each once', async () => {
    const { server, reader, call } = await serve(answer);
    const query = { applicationId: 7, name: '/allWeb' };
    const { names, complete } = await reader.listMetricNames(query, call);
    expect(names.map(({ name }) => name)).toEqual(['m1', 'everywhere', 'm2', 'm3', 'm4']);
    expect(names[0]?.values).toEqual(['call_count']);
    expect(complete).toBe(true);
    expect(server.asked.map(({ url }) => Object.fromEntries(url.searchParams))).toEqual([
      { name: '/allWeb' },
      { name: '/allWeb', cursor: '2' },
      { name: '/allWeb', cursor: '3' },
      { name: '/allWeb', cursor: '4' },
    ]);
  });

  it.each([
    [2, ['m1', 'everywhere', 'm2'], false],
    [4, ['m1', 'everywhere', 'm2', 'm3', 'm4'], true],
  ])('stop after %i pages where limited', async (maxPages, expected, complete) => {
    const { server, reader, call } = await serve(answer);
    const list = await reader.listMetricNames({ applicationId: 7, maxPages }, call);
    expect(list.names.map(({ name }) => name)).toEqual(expected);
    expect(list.complete).toBe(complete);
    expect(server.asked).toHaveLength(maxPages);
  });

  it('fail when the next links lead to ever new pages with the same names', async () => {
    const { server, reader, call } = await serve((response, { url }, index) =>
      json(response, { metrics: [entry('everywhere')] }, link(`${url.pathname}?cursor=${index + 2}`)),
    );
    const { message } = await failureOf(reader.listMetricNames({ applicationId: 7, maxPages: 50 }, call));
    expect(message).toContain('pages 2 to 4 repeat records of earlier pages');
    expect(server.asked).toHaveLength(4);
  });

  it.each([
    [20, []],
    [21, ['GET /applications/{id}/metrics.json: application 7: more than 20 pages of metric names with "Custom/"']],
  ])('of custom metrics are read from 20 pages; of %i pages it reports what is left out', async (pages, reported) => {
    const { server, reader, call, notes } = await serve((response, { url }) => {
      const pageNumber = Number(url.searchParams.get('cursor') ?? '1');
      const next = pageNumber < pages ? link(`${url.pathname}?cursor=${pageNumber + 1}`) : {};
      json(response, { metrics: [entry(`Custom/${pageNumber}`)] }, next);
    });
    const { names, cut } = await readOne(reader.customNames, { applicationId: 7, filters: ['Custom/'] }, call);
    expect(names).toHaveLength(20);
    expect(cut).toHaveLength(reported.length);
    expect(server.asked).toHaveLength(20);
    expect(notes.failures.map(({ message }) => message.replace(/: the exporter leaves out the rest; .*/, ''))).toEqual(
      reported,
    );
  });
});
