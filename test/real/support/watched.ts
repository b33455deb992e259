import { startSimulator, type Simulator, type SimulatorOptions } from '../../../simulator/simulator.ts';
import type { ConfigInput } from '../../e2e/support/config.ts';
import { MovedClock } from '../../e2e/support/movedClock.ts';
import { startExporter, type Exporter } from '../../e2e/support/program.ts';
import { scrapeUntilFresh } from '../../e2e/support/states.ts';
import type { RealProgram } from './realPrograms.ts';
import { startPrometheus, type PrometheusServer, type RunningServer } from './servers.ts';

export interface Watched {
  readonly simulator: Simulator;
  readonly exporter: Exporter;
  readonly server: PrometheusServer;
  /**
   * Moves the time on once everything is read: a call in flight would seem to last as long, and the exporter would slow down for
   * such calls.
   */
  readonly later: (minutes: number) => Promise<void>;
  readonly stop: () => Promise<void>;
}

/**
 * A world whose time stands still until it is moved on, an exporter that has read it, and a Prometheus that scrapes the exporter,
 * evaluates rules every second, and tells an Alertmanager of alerts where there is one.
 */
export async function startWatched(
  prometheus: RealProgram,
  options: {
    readonly world: SimulatorOptions;
    readonly config: (simulator: Simulator) => ConfigInput;
    /** Files of rules by their names. */
    readonly rules: Readonly<Record<string, string>>;
    readonly alertmanager?: RunningServer;
  },
): Promise<Watched> {
  const { rules, alertmanager } = options;
  const clock = new MovedClock({ standsStill: true });
  const simulator = await startSimulator({ ...options.world, now: clock.now });
  const exporter = await startExporter({ ...clock.program, config: options.config(simulator) });
  await scrapeUntilFresh(exporter);
  const address = new URL(alertmanager?.url ?? 'http://none');
  const alerting = `alerting: {alertmanagers: [{path_prefix: ${address.pathname}, static_configs: [{targets: ['${address.host}']}]}]}\n`;
  const server = await startPrometheus(prometheus, {
    config:
      'global: {scrape_interval: 1s, scrape_timeout: 1s, evaluation_interval: 1s}\n' +
      `rule_files: [${Object.keys(rules).join(', ')}]\n${alertmanager === undefined ? '' : alerting}` +
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
  return { simulator, exporter, server, later, stop };
}
