import { startSimulator, type Simulator, type SimulatorOptions } from '../../../src/simulator/simulator.ts';
import type { ConfigInput } from '../../e2e/support/config.ts';
import { MovedClock } from '../../e2e/support/movedClock.ts';
import { startExporter } from '../../e2e/support/program.ts';
import { scrapeUntilFresh } from '../../e2e/support/states.ts';
import type { RealProgram } from './realPrograms.ts';
import { startPrometheus, type PrometheusServer } from './servers.ts';

export interface Watched {
  readonly simulator: Simulator;
  readonly server: PrometheusServer;
  /**
   * Moves the time on once everything is read: a call in flight would seem to last as long, and the exporter would slow down for
   * such calls.
   */
  readonly later: (minutes: number) => Promise<void>;
  readonly stop: () => Promise<void>;
}

/**
 * A world whose time stands still until it is moved on, an exporter that has read it, and a Prometheus that scrapes the
 * exporter and evaluates these files of rules every second.
 */
export async function startWatched(
  prometheus: RealProgram,
  given: {
    readonly world: SimulatorOptions;
    readonly config: (simulator: Simulator) => ConfigInput | Promise<ConfigInput>;
    /** By their names; made once the configuration is. */
    readonly rules: () => Readonly<Record<string, string>>;
  },
): Promise<Watched> {
  const clock = new MovedClock({ standsStill: true });
  const simulator = await startSimulator({ ...given.world, now: clock.now });
  const exporter = await startExporter({ ...clock.program, config: await given.config(simulator) });
  await scrapeUntilFresh(exporter);
  const rules = given.rules();
  const server = await startPrometheus(prometheus, {
    config:
      `global: {scrape_interval: 1s, evaluation_interval: 1s}\nrule_files: [${Object.keys(rules).join(', ')}]\n` +
      `scrape_configs: [{job_name: newrelic-apm-exporter, honor_labels: true, static_configs: [{targets: ['127.0.0.1:${exporter.port}']}]}]\n`,
    files: rules,
  });
  const later = async (minutes: number): Promise<void> => {
    await scrapeUntilFresh(exporter);
    clock.minutesLater(minutes);
  };
  const stop = async (): Promise<void> => {
    await server.stop();
    await exporter.stop();
    await simulator.close();
    clock.close();
  };
  return { simulator, server, later, stop };
}
