import type { BatchRead, CallOptions, MetricDataAnswer, MetricDataSubject, SeriesRead, TimeRange } from '../reader.ts';
import type { MetricData } from '../types.ts';
import * as endpoints from './endpoints.ts';
import { summarizeSeries, toSeries } from './metricSeries.ts';
import { NameSplitting } from './nameSplitting.ts';
import { oneByOne } from './oneByOne.ts';
import type { RefusedNames } from './refusedNames.ts';
import type { RestClient } from './restClient.ts';
import { parseMetricData } from './schemas/metricData.ts';
import { planChunks } from './seriesChunks.ts';

const LONGEST_NAME_SHOWN = 120;

/** Reads the metric data of applications and hosts; all calls about one subject send the same pair of times. */
export class MetricDataCalls {
  readonly #client: RestClient;
  readonly #raw: boolean;
  readonly #splitting: NameSplitting;

  /** @param raw asks for values that are not rounded to three digits */
  constructor(client: RestClient, raw: boolean, refused: RefusedNames) {
    this.#client = client;
    this.#raw = raw;
    this.#splitting = new NameSplitting(refused);
  }

  /** One timeslice per metric over the range. */
  get summarized(): BatchRead<MetricDataSubject, MetricDataAnswer> {
    return oneByOne(
      async (subject, range, call) => ({ data: await this.#read(subject, range, true, call), datastores: undefined }),
      (subject) => this.#splitting.calls(subject),
    );
  }

  get series(): SeriesRead {
    return {
      ...oneByOne(
        async (subject, chunk, call) => {
          const data = await this.#read(subject, { from: chunk.readFrom, to: chunk.to }, false, call);
          return toSeries(data, subject.names, chunk);
        },
        (subject) => this.#splitting.calls(subject),
      ),
      plan: planChunks,
      summarize: summarizeSeries,
    };
  }

  async #read(
    subject: MetricDataSubject,
    range: TimeRange,
    summarize: boolean,
    call: CallOptions,
  ): Promise<MetricData> {
    const { applicationId, hostKey, names } = subject;
    const target = (some: readonly string[]): endpoints.Target =>
      endpoints.metricData({ applicationId, hostKey, names: some, range, summarize, raw: this.#raw });
    const answered: (readonly string[])[] = [];
    const data = await this.#splitting.read(
      subject,
      async (some) => {
        const found = await this.#client.one(target(some), call, (body, leftOut) =>
          parseMetricData(body, range, leftOut),
        );
        answered.push(some);
        return found;
      },
      (name) => {
        const about = hostKey === undefined ? `application ${applicationId}` : `hosts of application ${applicationId}`;
        const shown = Array.from(name).slice(0, LONGEST_NAME_SHOWN).join('');
        this.#client.leftOut(
          target([name]),
          `${about}: upstream refuses the metric name ${JSON.stringify(shown)}: what is calculated from it is missing`,
        );
      },
    );
    return answered[0] === names ? data : withUnknown(data, names, answered, range);
  }
}

/**
 * Adds what upstream refused to answer, as metrics without values: nobody knows them. Without them, a calculation would take
 * such a metric for one that the application does not have (no errors, no queue, nothing to take off a total time).
 */
function withUnknown(
  data: MetricData,
  names: readonly string[],
  answered: readonly (readonly string[])[],
  range: TimeRange,
): MetricData {
  const known = new Set(answered.flat());
  const refused = names.filter((name) => !known.has(name));
  return new Map([...data, ...refused.map((name) => [name, [{ ...range, values: {} }]] as const)]);
}
