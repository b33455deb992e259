import process from 'node:process';
import type { Config } from '../config/config.ts';
import { loadConfig, type ConfigResult } from '../config/load.ts';
import { DEMO_API_KEY } from '../../simulator/simulatorSettings.ts';
import type { Simulator } from '../../simulator/simulator.ts';
import { firstIncompleteMinute } from '../../simulator/world/worldEntities.ts';
import { startDaemon } from '../cli/serve.ts';
import type { Servers } from '../web/server/servers.ts';
import { runService } from '../cli/service.ts';
import { exitOnDiagnostics, loadOrExit, openLog, readWebConfig } from '../cli/configuration.ts';
import { readServeFlags, type ServeFlags, type CommonOptions } from '../cli/flags.ts';
import type { SimulatorFlags } from './simulatorFlags.ts';
import { startOrExit } from './simulate.ts';

/** Age of the incident when the demo starts, in minutes: the first values must show it. */
const INCIDENT_AGE = 5;

/** Limits the memory of a demo that runs for a day. */
const LOGGED_REQUESTS = 2_000;

export async function demo(options: SimulatorFlags & CommonOptions): Promise<void> {
  const flags = readServeFlags({ ...options });
  const { LISTEN_FDS, LISTEN_PID } = process.env;
  const log = openLog(options);
  await runService(
    log.logger,
    async () => {
      exitOnDiagnostics(readWebConfig(flags.webConfigFile));
      const fromMinute = firstIncompleteMinute(Date.now()) - INCIDENT_AGE;
      const simulator = await startOrExit(options, {
        hourlyIncident: { application: 1 % options.applications, fromMinute },
        // The page of a demo without flags shows exactly one problem.
        chanceIncidents: options.oddNames === true,
        loggedRequests: LOGGED_REQUESTS,
      });
      try {
        const config = await loadDemoConfig(simulator, options, flags);
        const readConfig = (): Promise<ConfigResult> => Promise.resolve({ config, warnings: [] });
        // The demo ignores the environment, except for the sockets of systemd.
        const environment = { LISTEN_FDS, LISTEN_PID };
        const daemon = await startDaemon({ config, readConfig, flags, log, environment });
        introduce(daemon.servers, simulator, flags);
        const stop = async (): Promise<void> => {
          await daemon.stop();
          await simulator.close();
        };
        return { ...daemon, stop };
      } catch (error) {
        await simulator.close();
        throw error;
      }
    },
    'reload',
  );
}

/** Returns a configuration with two simulated accounts, and with `collection` of the configuration file, if any. */
async function loadDemoConfig(simulator: Simulator, simulated: SimulatorFlags, flags: ServeFlags): Promise<Config> {
  const access = {
    api_key: simulated.apiKey?.[0] ?? DEMO_API_KEY,
    ...(simulated.tlsCertFile === undefined ? {} : { tls: { ca_file: simulated.tlsCertFile } }),
  };
  const accounts = [
    { name: 'demo', api: 'rest', base_url: `${simulator.url}/v2`, ...access, counters: true, instances: true },
    {
      name: 'demo-nerdgraph',
      account_id: simulated.accountId,
      base_url: `${simulator.url}/graphql`,
      ...access,
      counters: true,
      applications: { tags: ['team', 'environment'] },
      entities: [{ type: 'EXT-SERVICE', tags: ['team'] }],
      query_packs: ['transactions', 'alert_events'],
    },
  ];
  const loaded = loadConfig({ path: 'demo', text: JSON.stringify({ accounts, collection: { background: true } }) }, {});
  if ('diagnostics' in loaded) throw new Error(loaded.diagnostics.map(({ message }) => message).join('; '));
  if (flags.configFile === undefined) return loaded.config;
  const { config } = await loadOrExit({ configFile: flags.configFile, once: true });
  return { ...loaded.config, collection: { ...config.collection, background: true } };
}

function introduce(servers: Servers, simulator: Simulator, flags: ServeFlags): void {
  const prefix = flags.routePrefix.replace(/\/$/, '');
  const [address = ''] = servers.addresses;
  // Nobody can call the address of all network interfaces.
  const reachable = address.replace(/^(\[::\]|0\.0\.0\.0):/, 'localhost:');
  const base = `${servers.scheme}://${reachable}${prefix}`;
  process.stdout.write(`
Simulated New Relic    ${simulator.url}
Metrics                ${base}${flags.telemetryPath}
Status page            ${base}/
Stop with ctrl-C.

`);
}
