import { isDatastore, type MetricName } from '../types.ts';
import type {
  ApplicationSubject,
  BatchRead,
  CallOptions,
  CustomNamesSubject,
  MetricNameList,
  MetricNameQuery,
} from '../reader.ts';
import { oneByOne, type RestClient, metricTarget, queryOf, type Target } from './restClient.ts';
import { metricName } from './schemas.ts';

/** Metric names come by the thousand; the longest list that was reported has 1,240 pages. */
const MOST_PAGES = 2_000;
/** The most pages of a custom metric's name list that are read. */
const CUSTOM_PAGES = 20;
/** Database metrics all end in this; the whole name list would be large. */
const DATABASE_FILTER = '/allWeb';

/** Reads the metric name lists of applications and hosts. */
export class MetricNames {
  readonly #client: RestClient;
  /** How many calls the custom names of an application took when they were last read. */
  readonly #customCalls = new Map<number, number>();

  constructor(client: RestClient) {
    this.#client = client;
  }

  /** Forgets applications that are not on the list any more. */
  keepOnly(applicationIds: ReadonlySet<number>): void {
    for (const id of this.#customCalls.keys()) if (!applicationIds.has(id)) this.#customCalls.delete(id);
  }

  async list(query: MetricNameQuery, call: CallOptions): Promise<MetricNameList> {
    const limits = { mostPages: Math.max(MOST_PAGES, query.maxPages ?? 0), stopAfter: query.maxPages };
    const found = new Map<string, MetricName>();
    const complete = await this.#client.pages(targetOf(query), 'metrics', metricName, limits, call, (names, page) => {
      const before = found.size;
      for (const entry of names) if (!found.has(entry.name)) found.set(entry.name, entry);
      query.onPage?.(page, found.size);
      return found.size - before;
    });
    return { names: [...found.values()], complete };
  }

  /** The datastore metrics of an application, one per database type. */
  readonly datastores: BatchRead<ApplicationSubject, readonly string[]> = oneByOne(
    async ({ applicationId }, _, call) => {
      const { names } = await this.list({ applicationId, name: DATABASE_FILTER }, call);
      const datastores = names.map(({ name }) => name).filter((name) => isDatastore(name) && canBeAsked(name));
      return [...new Set(datastores)].sort();
    },
  );

  /** The names that contain any of the filters, at most 20 pages of each. */
  readonly custom: BatchRead<CustomNamesSubject, readonly string[]> = oneByOne(
    async ({ applicationId, filters }, _, call) => {
      const found = new Set<string>();
      let calls = 0;
      for (const name of new Set(filters)) {
        const onPage = (): void => void (calls += 1);
        const query = { applicationId, name, maxPages: CUSTOM_PAGES, onPage };
        const { names, complete } = await this.list(query, call);
        if (!complete) this.#client.leftOut(targetOf(query), tooManyNames(applicationId, name));
        for (const entry of names) if (canBeAsked(entry.name)) found.add(entry.name);
      }
      this.#customCalls.set(applicationId, calls);
      return [...found];
    },
    ({ applicationId, filters }) => this.#customCalls.get(applicationId) ?? new Set(filters).size,
  );
}

function targetOf(query: MetricNameQuery): Target {
  return metricTarget('metrics.json', query, query.name === undefined ? '' : queryOf([['name', query.name]]));
}

/** Half a surrogate pair cannot travel in an address: the name that would be asked for is another one. */
function canBeAsked(name: string): boolean {
  return !/\p{Surrogate}/u.test(name);
}

function tooManyNames(applicationId: number, name: string): string {
  return (
    `application ${applicationId}: more than ${CUSTOM_PAGES} pages of metric names contain ${JSON.stringify(name)}: ` +
    'the rest is left out; a longer literal part in "match" narrows the list'
  );
}
