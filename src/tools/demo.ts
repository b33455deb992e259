import process from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';
import { fetch } from 'undici';
import type { Config } from '../config/config.ts';
import { loadConfig, type ConfigResult } from '../config/load.ts';
import type { Environment } from '../config/yaml/placeholders.ts';
import { DEMO_API_KEY } from '../simulator/simulatorSettings.ts';
import type { Simulator, SimulatorOptions } from '../simulator/simulator.ts';
import { startDaemon, type Daemon } from '../cli/serve.ts';
import { runService } from '../cli/service.ts';
import { checkWebConfigOrExit, loadOrExit, openLog } from '../cli/configuration.ts';
import { readServeFlags, type ServeFlags, type CommonOptions } from '../cli/flags.ts';
import type { SimulatorFlags } from './simulatorFlags.ts';
import { startOrExit } from './simulate.ts';

/** The accounts of the demo: one simulated New Relic, read through each of its interfaces. */
const REST_ACCOUNT = 'demo';
const NERDGRAPH_ACCOUNT = 'demo-nerdgraph';

const ACCOUNTS = [REST_ACCOUNT, NERDGRAPH_ACCOUNT];

/** The families in the sample of series that is printed at the start. */
const SAMPLE_FAMILIES = [
  'newrelic_up',
  'newrelic_application_response_time_seconds',
  'newrelic_application_component_time_seconds',
  'newrelic_application_total_time_seconds',
  'newrelic_application_queue_time_seconds',
  'newrelic_application_error_ratio',
  'newrelic_application_apdex_score',
  'newrelic_application_transactions_total',
  'newrelic_host_cpu_usage_ratio',
  'newrelic_key_transaction_rolling_response_time_seconds',
  'newrelic_transaction_duration_seconds',
  'newrelic_alert_events_open',
  'newrelic_exporter_api_budget_requests_per_minute',
];
/** The family whose series appear once metric data has been read. */
const METRIC_DATA_FAMILY = 'newrelic_application_response_time_seconds';
const PAUSE_MS = 500;

/** The command `demo`: the simulator and the exporter in one process, with no account and no configuration needed. */
export async function demo(simulated: SimulatorOptions, options: SimulatorFlags & CommonOptions): Promise<void> {
  const flags = readServeFlags({ ...options });
  const { logger, secrets } = openLog(options);
  const { service, stopping, end } = await runService(
    logger,
    async () => {
      checkWebConfigOrExit(flags.webConfigFile);
      const simulator = await startOrExit(simulated, options);
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
        const stop = async (): Promise<void> => {
          await daemon.stop();
          await simulator.close();
        };
        return { daemon, simulator, stop, reload: () => daemon.reload() };
      } catch (error) {
        await simulator.close();
        throw error;
      }
    },
    'reload',
  );
  try {
    await introduce(service, flags, stopping);
  } catch (error) {
    await end();
    throw error;
  }
}

/** The demo ignores the environment, except for the variables with which systemd hands over sockets. */
function socketVariables({ systemdSocket }: ServeFlags): Environment {
  const { LISTEN_FDS, LISTEN_PID } = process.env;
  return systemdSocket ? { LISTEN_FDS, LISTEN_PID } : {};
}

/** The two simulated accounts, with the part `collection` of a configuration file if one is named. */
async function demoConfig(simulator: Simulator, simulated: SimulatorFlags, flags: ServeFlags): Promise<Config> {
  const access = {
    api_key: simulated.apiKey?.[0] ?? DEMO_API_KEY,
    ...(simulated.tlsCertFile === undefined ? {} : { tls: { ca_file: simulated.tlsCertFile } }),
  };
  const accounts = [
    { name: REST_ACCOUNT, api: 'rest', base_url: `${simulator.url}/v2`, ...access, counters: true, instances: true },
    {
      name: NERDGRAPH_ACCOUNT,
      account_id: simulated.accountId,
      base_url: `${simulator.url}/graphql`,
      ...access,
      counters: true,
      applications: { tags: ['team', 'environment'] },
      entities: [{ type: 'EXT-SERVICE', tags: ['team'] }],
      query_packs: ['transactions', 'alert_events'],
    },
  ];
  const loaded = loadConfig({ path: 'demo', text: JSON.stringify({ accounts }) }, {});
  if ('diagnostics' in loaded) throw new Error(loaded.diagnostics.map(({ message }) => message).join('; '));
  if (flags.configFile === undefined) return loaded.config;
  const { config } = await loadOrExit({ configFile: flags.configFile, once: true });
  return { ...loaded.config, collection: config.collection };
}

/** Prints the addresses and, once there is metric data, a sample of it. */
async function introduce(
  { daemon: { servers }, simulator }: { readonly daemon: Daemon; readonly simulator: Simulator },
  flags: ServeFlags,
  signal: AbortSignal,
): Promise<void> {
  const prefix = flags.routePrefix.replace(/\/$/, '');
  const [address = ''] = servers.addresses;
  const base = `${servers.scheme}://${reachable(address)}${prefix}`;
  const lines = [
    '',
    `Simulated New Relic    ${simulator.url}`,
    `Metrics                ${base}${flags.telemetryPath}`,
    `Status page            ${base}/`,
    'Stop with ctrl-C.',
    '',
  ];
  process.stdout.write(`${lines.join('\n')}\n`);
  // No sample with TLS or basic auth, because the demo has no credentials, and none on a Unix socket, which has no port.
  if (flags.webConfigFile !== undefined || !/:\d+$/.test(address)) return;
  const metrics = await firstScrape(`${base}${flags.telemetryPath}`, signal);
  if (metrics !== undefined) process.stdout.write([...sampleOf(metrics), '', ''].join('\n'));
}

/** Scrapes until both accounts have metric data, and returns the lines of that scrape; undefined if stopped before. */
async function firstScrape(url: string, signal: AbortSignal): Promise<readonly string[] | undefined> {
  try {
    for (;;) {
      const response = await fetch(url, { signal });
      const lines = (await response.text()).split('\n');
      if (ACCOUNTS.every((account) => seriesOf(lines, account, `${METRIC_DATA_FAMILY}{`).length > 0)) return lines;
      await sleep(PAUSE_MS, undefined, { signal });
    }
  } catch (error) {
    if (signal.aborted) return undefined;
    throw error;
  }
}

/** The number of series, and the first series of each family from each account. */
function sampleOf(lines: readonly string[]): string[] {
  const [rest = 0, nerdGraph = 0] = ACCOUNTS.map((account) => seriesOf(lines, account).length);
  return [
    `The same applications, read twice: ${rest} series of account ${REST_ACCOUNT} over REST, instances included,`,
    `and ${nerdGraph} of account ${NERDGRAPH_ACCOUNT} over NerdGraph. Where the figures differ, REST has rounded them.`,
    '',
    ...SAMPLE_FAMILIES.flatMap((family) =>
      ACCOUNTS.flatMap((account) => seriesOf(lines, account, `${family}{`).slice(0, 1)),
    ),
  ];
}

/** The series of an account that begin with `start`; without it, all but the exporter's own metrics. */
function seriesOf(lines: readonly string[], account: string, start?: string): string[] {
  const ofAccount = lines.filter((line) => line.includes(`{account="${account}"`));
  return ofAccount.filter((line) =>
    start === undefined ? /^newrelic_(?!exporter_)/.test(line) : line.startsWith(start),
  );
}

/** The address to use from this machine: the host's name when the server listens on all network interfaces. */
function reachable(address: string): string {
  return address.replace(/^(\[::\]|0\.0\.0\.0):/, 'localhost:');
}
