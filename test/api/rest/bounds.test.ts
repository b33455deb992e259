import { describe, expect, it } from 'vitest';
import { BOUNDS } from '../../../src/api/http/response.ts';
import { application, readMetricData, readOne, serve, type Reading } from '../support/reading.ts';
import { json, type Responder } from '../support/testServer.ts';
import { endOf } from '../support/endOf.ts';

const link = (target: string): Record<string, string> => ({ link: `<${target}>; rel="next"` });

/** Lists of pages of 5,000 records, the last with the rest. */
const pages =
  (member: string, recordOf: (id: number) => unknown) =>
  (count: number): Responder =>
  (response, { url }) => {
    const page = Number(url.searchParams.get('page') ?? '1');
    const length = Math.max(0, Math.min(5_000, count - 5_000 * (page - 1)));
    const records = Array.from({ length }, (_, index) => recordOf(5_000 * (page - 1) + index + 1));
    json(response, { [member]: records }, count > 5_000 * page ? link(`${url.pathname}?page=${page + 1}`) : {});
  };

/** One page that has this number of records. */
const page =
  (member: string, recordOf: (id: number) => unknown) =>
  (count: number): Responder =>
  (response) =>
    json(response, { [member]: Array.from({ length: count }, (_, index) => recordOf(index + 1)) });

const host = (id: number): unknown => ({ id, host: `host-${id}` });

const listApplications = ({ reader, call }: Reading) => reader.listApplications({}, call);
const listHosts = ({ reader, call }: Reading) => readOne(reader.hosts, { applicationId: 7 }, call);
const listInstances = ({ reader, call }: Reading) => readOne(reader.instances, { applicationId: 7 }, call);
const readNames = ({ reader, call }: Reading) =>
  readOne(reader.customNames, { applicationId: 7, filters: ['Custom/'] }, call);
const readData = ({ reader, call }: Reading) => readMetricData(reader, { names: ['HttpDispatcher'] }, call);

interface Bound {
  readonly what: string;
  readonly most: number;
  readonly answer: (count: number) => Responder;
  readonly read: (reading: Reading) => Promise<unknown>;
  /** The subject and the advice in the message, after the bound. */
  readonly says: RegExp;
}

/** A body of this number of bytes: spaces are no elements. */
const bytes =
  (start: string) =>
  (count: number): Responder =>
  (response) =>
    response.end(start + ' '.repeat(count - start.length));

/** A body of this number of elements: one list, and members of one object. */
const elements =
  (member: string) =>
  (count: number): Responder =>
  (response) =>
    response.end(`{"${member}":[],"rest":{"n":[${'0,'.repeat(count - 5)}0]}}`);

/** A list without an end before this number of pages, each with one name. */
const namePages =
  (count: number): Responder =>
  (response, { url }) => {
    const number = Number(url.searchParams.get('page') ?? '1');
    json(
      response,
      { metrics: [{ name: `Custom/${number}` }] },
      number < count ? link(`${url.pathname}?page=${number + 1}`) : {},
    );
  };

const HOSTS = /application 7: .*applications\.settings: hosts: false/;
const LIST = /^too_large: GET \/applications\.json: /;

const BOUNDS_OF_REST: Bound[] = [
  {
    what: 'records of a list',
    most: 40_000,
    answer: pages('applications', (id) => application(id)),
    read: listApplications,
    says: /GET \/applications\.json: "applications" has more than 40000 records/,
  },
  {
    what: 'records of a page of hosts',
    most: 5_000,
    answer: page('application_hosts', host),
    read: listHosts,
    says: HOSTS,
  },
  {
    what: 'records of a page of instances',
    most: 5_000,
    answer: page('application_instances', host),
    read: listInstances,
    says: /application 7: .*instances: false/,
  },
  {
    what: 'records of a page of metric names',
    most: 5_000,
    answer: page('metrics', (id) => ({ name: `Custom/${id}` })),
    read: readNames,
    says: /application 7: .*"match" \(custom_metrics\)/,
  },
  {
    what: 'bytes of a page of applications',
    most: BOUNDS.list.bytes,
    answer: bytes('{"applications":[]}'),
    read: listApplications,
    says: LIST,
  },
  {
    what: 'bytes of a page of hosts',
    most: BOUNDS.list.bytes,
    answer: bytes('{"application_hosts":[]}'),
    read: listHosts,
    says: HOSTS,
  },
  {
    what: 'bytes of metric data',
    most: BOUNDS.metricData.bytes,
    answer: bytes('{"metric_data":{"metrics_not_found":[],"metrics":[]}}'),
    read: readData,
    says: /application 7: .*applications\.exclude/,
  },
  {
    what: 'elements of metric data',
    most: BOUNDS.metricData.elements,
    answer: (count) => (response) => {
      const start = '{"metric_data":{"metrics_not_found":[],"metrics":[]},"rest":[';
      // Four elements of an object or a list, two commas before the last list, and its first element.
      response.end(`${start}${'0,'.repeat(count - 7)}0]}`);
    },
    read: readData,
    says: /application 7: .*applications\.exclude/,
  },
  {
    what: 'pages of metric names',
    most: 2_000,
    answer: namePages,
    read: ({ reader, call }) => reader.listMetricNames({ applicationId: 7 }, call),
    says: /application 7: narrow them by a part of the name; .*does not end within 2000 pages/,
  },
  {
    what: 'elements of a page of applications',
    most: BOUNDS.list.elements,
    answer: elements('applications'),
    read: listApplications,
    says: LIST,
  },
  {
    what: 'elements of a page of hosts',
    most: BOUNDS.list.elements,
    answer: elements('application_hosts'),
    read: listHosts,
    says: HOSTS,
  },
];

describe.each(BOUNDS_OF_REST)('$what: $most', ({ most, answer, read, says }) => {
  it.each([most - 1, most])('accepts %d', async (count) => {
    const reading = await serve(answer(count));
    expect(await endOf(read(reading))).toBe('good');
    expect(reading.notes.failures).toEqual([]);
  });

  it('refuses one more, and the message names the bound, the subject and what to change', async () => {
    const reading = await serve(answer(most + 1));
    const end = await endOf(read(reading));
    expect(end).toMatch(/^too_large: /);
    expect(end).toMatch(says);
    expect(reading.notes.failures.map(({ reason }) => reason)).toEqual(['too_large']);
  });
});
