import { DEMO_API_KEY } from '../simulator/simulatorSettings.ts';
import { startSimulator, type Simulator, type SimulatorOptions } from '../simulator/simulator.ts';
import type { SimulatorFlags } from './flags.ts';
import { ExitStatus, runService } from './process.ts';
import { openLog } from './configuration.ts';

/** One sentence on why the simulator did not start. */
export function describeStartFailure(error: unknown, { listenAddress }: SimulatorFlags): string {
  const { host, port } = listenAddress;
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  if (code === 'EADDRINUSE') return `The address ${host}:${port} is in use: choose another with --listen-address.`;
  return `The simulator cannot start: ${error instanceof Error ? error.message : String(error)}.`;
}

function introduce(simulator: Simulator, flags: SimulatorFlags): string {
  const key = flags.apiKey === undefined ? DEMO_API_KEY : '<the key given with --api-key>';
  const tls = flags.tlsCertFile === undefined ? [] : ['    tls:', `      ca_file: ${flags.tlsCertFile}`];
  const lines = [
    `Listening on ${simulator.url} with ${flags.applications} applications, seed ${flags.seed}. Stop with ctrl-C.`,
    '',
    'Point the exporter at it with this configuration:',
    '',
    'accounts:',
    '  - name: simulator',
    `    base_url: ${simulator.url}/v2`,
    `    api_key: ${key}`,
    ...tls,
    '',
    'or, to read the same world through NerdGraph, with:',
    '',
    'accounts:',
    '  - name: simulator',
    '    api: nerdgraph',
    `    account_id: ${flags.accountId}`,
    `    base_url: ${simulator.url}/graphql`,
    `    api_key: ${key}`,
    ...tls,
  ];
  if (flags.control) lines.push('', `Faults, changes and the log of calls: ${simulator.url}/control`);
  return lines.join('\n');
}

/** Runs the simulator until it is told to stop. Throws an ExitStatus when it cannot listen. */
export async function simulate(options: SimulatorOptions, flags: SimulatorFlags): Promise<void> {
  const { logger } = openLog({ 'log.level': 'warn', 'log.format': 'logfmt' });
  await runService(
    logger,
    async () => {
      let simulator: Simulator;
      try {
        simulator = await startSimulator(options);
      } catch (error) {
        console.error(describeStartFailure(error, flags));
        throw new ExitStatus(1);
      }
      console.log(introduce(simulator, flags));
      return { stop: () => simulator.close() };
    },
    'stop',
  );
}
