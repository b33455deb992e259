import type { SimulatedApplication, SimulatedInstance } from '../../../simulator/world/worldEntities.ts';
import type { MetricDefinition } from '../../../simulator/world/agentMetrics.ts';
import { TimesliceSum } from '../../../simulator/world/timesliceValues.ts';
import type { World } from '../../../simulator/world/world.ts';
import type { Minutes, WindowFigures } from './expectedWindow.ts';

const SIGN_OF_LIFE = 'Agent/MetricsReported/count';
const COUNTED_FROM_NOTHING = ['HttpDispatcher', 'OtherTransaction/all', 'Errors/all'];

/**
 * The rows of one application, or of all its processes on hosts of one name, over some minutes, from what its agents stored: nothing
 * is stored of silence.
 */
export class NerdGraphRows {
  readonly #sums: ReadonlyMap<string, TimesliceSum>;
  readonly #minutes: Minutes;

  constructor(world: World, application: SimulatedApplication, minutes: Minutes, host?: string) {
    const scope = world.scope({ application: application.id });
    const sums = new Map<string, TimesliceSum>();
    this.#sums = sums;
    this.#minutes = minutes;
    if (scope === undefined) return;
    const here = ({ host: name }: SimulatedInstance): boolean => host === undefined || host === name;
    const metrics = world.metrics(scope).filter(({ reach }) => host === undefined || reach !== 'browser');
    const processes = { ...scope, instances: scope.instances.filter(here) };
    for (const { done } of world.minutes(processes, minutes.from, minutes.to)) {
      for (const metric of metrics) addRecord(sums, metric, done);
    }
  }

  /** Whether there is any row. */
  get reports(): boolean {
    return ['Memory/Physical', SIGN_OF_LIFE, ...COUNTED_FROM_NOTHING].some((name) => this.#sums.has(name));
  }

  /** The row of a metric as it is stored. */
  row(name: string): TimesliceSum | undefined {
    return this.#sums.get(name);
  }

  /** The row of a metric, where nothing counts 0 for what reports. */
  counted(name: string): TimesliceSum | undefined {
    const none = this.reports && COUNTED_FROM_NOTHING.includes(name) ? new TimesliceSum() : undefined;
    return this.#sums.get(name) ?? none;
  }

  /** For the families about a window. */
  figures(level: WindowFigures['level']): WindowFigures {
    const memory = this.row('Memory/Physical');
    const processes = (this.row(SIGN_OF_LIFE)?.count ?? 0) / (this.#minutes.to - this.#minutes.from);
    const each = memory === undefined ? undefined : memory.total / memory.count;
    return {
      level,
      get: (name) => this.counted(name),
      memoryMegabytes: each === undefined || level === 'host' ? each : each * processes,
      errorsWithoutData: () => undefined,
    };
  }
}

function addRecord(
  sums: Map<string, TimesliceSum>,
  metric: MetricDefinition,
  done: Parameters<MetricDefinition['record']>[0],
): void {
  const record = metric.record(done);
  if (record === undefined || (record.count === 0 && record.total === 0 && record.totalExclusive === 0)) return;
  const sum = sums.get(metric.name) ?? new TimesliceSum();
  sums.set(metric.name, sum);
  for (let sample = 0; sample < (metric.samplesPerMinute ?? 1); sample += 1) sum.add(record);
}
