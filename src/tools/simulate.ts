import { DEMO_API_KEY } from '../../simulator/simulatorSettings.ts';
import { startSimulator, type Simulator, type SimulatorOptions } from '../../simulator/simulator.ts';
import { simulatorOptions, type SimulatorFlags } from './simulatorFlags.ts';
import { errorText } from '../log/logger.ts';
import { ExitStatus, printError } from '../cli/process.ts';
import { runService } from '../cli/service.ts';
import { openLog } from '../cli/configuration.ts';

export async function startOrExit(flags: SimulatorFlags, more: SimulatorOptions = {}): Promise<Simulator> {
  const { host, port } = flags.listenAddress;
  return startSimulator({ ...simulatorOptions(flags), ...more }).catch((error: unknown) => {
    const isInUse = error instanceof Error && 'code' in error && error.code === 'EADDRINUSE';
    const address = `the address ${host}:${port} is in use: choose another with --listen-address`;
    printError(isInUse ? address : `the simulator cannot start: ${errorText(error, false)}`);
    throw new ExitStatus(1);
  });
}

function introduce(simulator: Simulator, flags: SimulatorFlags): string {
  const key = flags.apiKey === undefined ? DEMO_API_KEY : '<the key given with --api-key>';
  const { url } = simulator;
  const lines = [
    `Listening on ${url} with ${flags.applications} applications, seed ${flags.seed}. Stop with ctrl-C.`,
    '',
    'Point the exporter at it with this configuration:',
    '',
    'accounts:',
    '  - name: simulator',
    flags.accounts > 1 ? '    account_ids: all' : `    account_id: ${flags.accountId}`,
    `    base_url: ${url}/graphql`,
    `    # To read the same world through REST: api: rest, base_url: ${url}/v2`,
    `    api_key: ${key}`,
    ...(flags.tlsCertFile === undefined ? [] : ['    tls:', `      ca_file: ${flags.tlsCertFile}`]),
    '',
  ];
  if (flags.control) lines.push(`Faults, changes and the log of calls: ${url}/control`);
  return lines.join('\n');
}

/** Runs the simulator until a signal stops it. Rejects with an ExitStatus when it cannot listen. */
export async function simulate(flags: SimulatorFlags): Promise<void> {
  const { logger } = openLog({ 'log.level': 'warn', 'log.format': 'logfmt' });
  await runService(
    logger,
    async () => {
      const simulator = await startOrExit(flags);
      console.log(introduce(simulator, flags));
      return { stop: () => simulator.close() };
    },
    'stop',
  );
}
