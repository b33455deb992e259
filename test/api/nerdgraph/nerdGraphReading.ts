import { createNerdGraphReader } from '../../../src/api/nerdgraph/nerdGraphReader.ts';
import type { NerdGraphReaderOptions } from '../../../src/api/nerdgraph/transport.ts';
import type { MetricDataSubject, TimeRange } from '../../../src/api/upstreamReader.ts';
import { DEMO_API_KEY } from '../../../simulator/simulatorSettings.ts';
import type { Simulator, SimulatorOptions } from '../../../simulator/simulator.ts';
import { simulatorForTest } from '../../support/simulator.ts';
import { note, startReading, type Reading } from '../support/reading.ts';

export const ACCOUNT = 1_234_567;
export const NOW = Date.UTC(2026, 10, 19, 14, 7, 30);
/** The half hour that ends two minutes before `NOW`, cut to the minute. */
export const RANGE: TimeRange = {
  from: Date.UTC(2026, 10, 19, 13, 35) / 1000,
  to: Date.UTC(2026, 10, 19, 14, 5) / 1000,
};

/** The metric names that the exporter asks for. */
export const NAMES = [
  ...['Apdex', 'EndUser/Apdex', 'EndUser', 'HttpDispatcher', 'OtherTransaction/all', 'Errors/all'],
  ...['WebTransactionTotalTime', 'WebFrontend/QueueTime', 'Database/allWeb', 'ActiveRecord/all'],
  ...['Memcache/allWeb', 'External/allWeb', 'Memory/Physical', 'CPU/User Time'],
];

export const METRICS = { names: NAMES };

/** The metric data subjects of applications, or of one host of each. */
export const metricDataOf = (ids: readonly number[], hostKey?: string): MetricDataSubject[] =>
  ids.map((applicationId) => ({ applicationId, hostKey, metrics: METRICS }));

/** A NerdGraph reader that records its calls, failures and waits. */
export function readNerdGraph(
  baseUrl: string,
  options: Partial<NerdGraphReaderOptions> = {},
  before?: object,
): Reading {
  return note((common) =>
    createNerdGraphReader(
      {
        ...common,
        baseUrl,
        keyHeader: 'Api-Key',
        accountId: ACCOUNT,
        detailsMs: 6 * 3_600_000,
        requestsPerMinute: 600,
        now: () => NOW,
        ...options,
      },
      before,
    ),
  );
}

/** The project's own service, and a reader over each of its interfaces. */
export async function startBoth(
  world: SimulatorOptions = {},
  options: Partial<NerdGraphReaderOptions> = {},
): Promise<{ simulator: Simulator; rest: Reading; nerdGraph: Reading }> {
  const simulator = await simulatorForTest({ now: () => NOW, ...world });
  const key = (): string => DEMO_API_KEY;
  return {
    simulator,
    rest: startReading(`${simulator.url}/v2`, { key, raw: true, now: () => NOW }),
    nerdGraph: readNerdGraph(`${simulator.url}/graphql`, { key, ...options }),
  };
}
