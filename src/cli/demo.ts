import process from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';
import { fetch } from 'undici';
import type { Config } from '../config/config.ts';
import { loadConfig, type ConfigResult } from '../config/load.ts';
import type { Environment } from '../config/placeholders.ts';
import { DEMO_API_KEY, startSimulator, type Simulator } from '../simulator/simulator.ts';
import { ListenError } from '../web/server/servers.ts';
import { startDaemon, type Daemon } from './daemon/daemon.ts';
import { ExitStatus } from './process/exitStatus.ts';
import { loadOrExit } from './configuration.ts';
import { readServeFlags, type ServeFlags } from './flags/serveFlags.ts';
import { openLog } from './process/log.ts';
import { runReloadingService, type ReloadingService } from './process/signals.ts';
import type { LogOptions } from './flags/commonFlags.ts';
import { describeStartFailure, simulatorOptions, type SimulatorFlags } from './simulate.ts';

/** The series shown at the start: what this exporter gives that the summaries alone do not. */
const TELLING = [
  'newrelic_up',
  'newrelic_application_response_time_seconds',
  'newrelic_application_component_time_seconds',
  'newrelic_application_total_time_seconds',
  'newrelic_application_queue_time_seconds',
  'newrelic_application_error_ratio',
  'newrelic_application_apdex_score',
  'newrelic_host_cpu_usage_ratio',
  'newrelic_key_transaction_rolling_response_time_seconds',
  'newrelic_exporter_api_budget_requests_per_minute',
];
const PAUSE_MS = 500;
const LINES_PER_FAMILY = 2;

interface Demo extends ReloadingService {
  readonly daemon: Daemon;
  readonly simulator: Simulator;
}

/** The command `demo`: the simulator and the exporter in one process, with no account and no configuration needed. */
export async function demo(options: SimulatorFlags & LogOptions): Promise<void> {
  const flags = readServeFlags({ ...options });
  const { logger, secrets } = openLog(options);
  const { service, stopping, end } = await runReloadingService(logger, async () => {
    const simulator = await start(options);
    try {
      const config = await demoConfig(simulator, options, flags);
      const readConfig = (): Promise<ConfigResult> => Promise.resolve({ config, warnings: [] });
      const daemon = await startDaemon({
        config,
        readConfig,
        flags,
        logger,
        secrets,
        environment: socketVariables(flags),
      });
      return demoOf(daemon, simulator);
    } catch (error) {
      await simulator.close();
      if (!(error instanceof ListenError)) throw error;
      logger.error(error.message);
      throw new ExitStatus(1);
    }
  });
  try {
    await introduce(service, flags, stopping);
  } catch (error) {
    await end();
    throw error;
  }
}

function demoOf(daemon: Daemon, simulator: Simulator): Demo {
  return {
    daemon,
    simulator,
    reload: () => daemon.reload('SIGHUP'),
    stop: async () => {
      await daemon.stop();
      await simulator.close();
    },
  };
}

/** The demo looks at no environment variable, but for those with which systemd hands over the sockets that it was told to use. */
function socketVariables({ systemdSocket }: ServeFlags): Environment {
  const { LISTEN_FDS, LISTEN_PID } = process.env;
  return systemdSocket ? { LISTEN_FDS, LISTEN_PID } : {};
}

async function start(options: SimulatorFlags): Promise<Simulator> {
  try {
    return await startSimulator(simulatorOptions(options));
  } catch (error) {
    process.stderr.write(`${describeStartFailure(error, options)}\n`);
    throw new ExitStatus(1);
  }
}

/** One account, which is the simulator; of a configuration file, where one is named, the part `collection`. */
async function demoConfig(simulator: Simulator, simulated: SimulatorFlags, flags: ServeFlags): Promise<Config> {
  const account = {
    name: 'demo',
    base_url: simulator.url,
    api_key: simulated.apiKey?.[0] ?? DEMO_API_KEY,
    ...(simulated.tlsCertFile === undefined ? {} : { tls: { ca_file: simulated.tlsCertFile } }),
    instances: true,
  };
  const loaded = loadConfig({ path: 'demo', text: JSON.stringify({ accounts: [account] }) }, {});
  if ('faults' in loaded) throw new Error(loaded.faults.map(({ message }) => message).join('; '));
  if (flags.configFile === undefined) return loaded.config;
  const { config } = await loadOrExit({ configFile: flags.configFile });
  return { ...loaded.config, collection: config.collection };
}

/** Says where everything is and, once there is metric data, shows what it looks like. */
async function introduce(
  { daemon: { servers }, simulator }: Demo,
  flags: ServeFlags,
  signal: AbortSignal,
): Promise<void> {
  const prefix = flags.routePrefix.replace(/\/$/, '');
  const base = `${servers.scheme}://${reachable(servers.addresses[0] ?? '')}${prefix}`;
  const lines = [
    '',
    `The upstream service   ${simulator.url} (simulated)`,
    `Metrics                ${base}${flags.telemetryPath}`,
    `Status page            ${base}/`,
    'Stop with ctrl-C.',
    '',
  ];
  process.stdout.write(`${lines.join('\n')}\n`);
  // With TLS or basic auth in front, only its owner can scrape it.
  if (flags.webConfigFile !== undefined) return;
  const metrics = await firstScrape(`${base}${flags.telemetryPath}`, signal);
  if (metrics !== undefined) process.stdout.write([...telling(metrics), '', ''].join('\n'));
}

/** The first scrape with metric data, which with faults or a slow upstream takes several; undefined when stopped before. */
async function firstScrape(url: string, signal: AbortSignal): Promise<string | undefined> {
  try {
    for (;;) {
      const response = await fetch(url, { signal });
      const text = await response.text();
      if (text.includes('newrelic_application_response_time_seconds{')) return text;
      await sleep(PAUSE_MS, undefined, { signal });
    }
  } catch (error) {
    if (signal.aborted) return undefined;
    throw error;
  }
}

function telling(metrics: string): string[] {
  const lines = metrics.split('\n');
  return TELLING.flatMap((family) => lines.filter((line) => line.startsWith(`${family}{`)).slice(0, LINES_PER_FAMILY));
}

/** All interfaces are reached by name from here. */
function reachable(address: string): string {
  return address.replace(/^(\[::\]|0\.0\.0\.0):/, 'localhost:');
}
