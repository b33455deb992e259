import { Option, type Command } from 'commander';
import { DAY_MS } from '../formulas/units.ts';
import { readFile } from '../config/files.ts';
import { UsageError } from '../cli/process.ts';
import { parseValidDuration, parseWith, collectWith, parseWholeNumber } from '../cli/flags.ts';
import { parseListenAddress } from '../web/server/listening.ts';
import { type FaultRuleInput, FAULT_SYNTAX, parseFault } from '../../simulator/faults/faultRules.ts';
import { DEMO_API_KEY } from '../../simulator/simulatorSettings.ts';
import type { SimulatorOptions } from '../../simulator/simulator.ts';

export const parseRatio = parseWith((text) => {
  const ratio = /^(?:\d*\.)?\d+$/.test(text) ? Number(text) : NaN;
  if (!(ratio <= 1)) throw new Error('It must be a ratio from 0 to 1, such as 0.01.');
  return ratio;
});

const DEFAULT_LISTEN = { host: '127.0.0.1', port: 9127, text: '127.0.0.1:9127' };

/** The flags of the simulator as commander parses them. Others have the names of SimulatorOptions. */
export type SimulatorFlags = Omit<SimulatorOptions, 'accounts'> &
  Required<Pick<SimulatorOptions, 'seed' | 'applications' | 'accountId' | 'control'>> & {
    readonly listenAddress: { readonly host: string; readonly port: number };
    readonly latency: number;
    readonly accounts: number;
    readonly apiKey?: readonly string[];
    readonly tlsCertFile?: string;
    readonly tlsKeyFile?: string;
    readonly fault?: readonly FaultRuleInput[];
  };

/** Accepts at most a day, because timers of Node.js overflow after 24.8 days. */
const parseLatency = parseValidDuration('such as 200ms or 2s, at most 1d', (latency) => latency <= DAY_MS);

const parseRate = parseWholeNumber(0, 1_000_000);
const parseAccountId = parseWholeNumber(1, 2_147_483_647);

function parseAddress(text: string): SimulatorFlags['listenAddress'] {
  const { host = '0.0.0.0', port } = parseListenAddress(text);
  return { host, port };
}

export function addSimulatorFlags(command: Command, { host, port, text } = DEFAULT_LISTEN): Command {
  const address = new Option('--listen-address <address>', 'host and port to listen on')
    .argParser(parseWith(parseAddress))
    .default({ host, port }, text);
  const about = 'metrics of a host: those that New Relic documents, or all that its agent reports';
  const hostMetrics = new Option('--host-metrics <which>', about).choices(['documented', 'all']).default('documented');
  return command
    .addOption(address)
    .option('--seed <number>', 'seed of the simulated world', parseWholeNumber(0, 4_294_967_295), 1)
    .option('--applications <number>', 'number of applications', parseWholeNumber(1, 100_000), 16)
    .option('--hosts-per-application <number>', 'number of hosts of each application', parseWholeNumber(1, 10_000), 2)
    .option(
      '--key-transactions <number>',
      'number of key transactions (default: half the applications, at least 8)',
      parseWholeNumber(0, 100_000),
    )
    .addOption(hostMetrics)
    .option('--latency <duration>', 'delay of every response, such as 200ms or 2s', parseLatency, 0)
    .option('--api-key <key>', `an accepted key; repeatable (default: ${DEMO_API_KEY})`, collectWith(String))
    .option('--tls-cert-file <file>', 'serve https; redirect plain HTTP on the same port with a 301')
    .option('--tls-key-file <file>', 'private key of the certificate')
    .option('--no-rounding', 'do not round figures to three significant digits')
    .option('--inclusive-to', 'timeslices end with their last second, as in 2014', false)
    .option('--no-metrics-found', 'metric data without the list of found names, as in 2014')
    .option('--calls-per-minute <number>', '429 beyond this many calls per minute and key; 0: no limit', parseRate, 0)
    .option('--account-id <number>', 'the account that NerdGraph answers for', parseAccountId, 1_234_567)
    .option(
      '--accounts <number>',
      'number of accounts that the key sees over NerdGraph, each with its own applications; ids count up',
      parseWholeNumber(1, 1_000),
      1,
    )
    .option('--nrql-per-minute <number>', 'error beyond this many queries per minute; 0: no limit', parseRate, 3000)
    .option(
      '--nrql-snapping',
      'NRQL over metrics cuts ranges to steps: 5 minutes from an hour on, 10 minutes from a day on',
      false,
    )
    .option('--late-data <share>', 'this share of the data (0 to 1) arrives one to eight minutes late', parseRatio, 0)
    .option('--odd-names', 'names with every character that New Relic allows', false)
    .option('--fault <rule>', 'a fault from the start, as described below; repeatable', collectWith(parseFault))
    .option('--no-control', 'do not serve /control/... on the loopback interface')
    .addHelpText('after', `\nForm of --fault:\n  ${FAULT_SYNTAX}`);
}

/** Returns the options of `startSimulator`. Throws a UsageError if a TLS file is missing or cannot be read. */
export function simulatorOptions(flags: SimulatorFlags): SimulatorOptions {
  const { listenAddress, latency, accounts, apiKey, fault, tlsCertFile, tlsKeyFile, ...others } = flags;
  if ((tlsCertFile === undefined) !== (tlsKeyFile === undefined)) {
    throw new UsageError('--tls-cert-file and --tls-key-file go together');
  }
  return {
    ...others,
    ...listenAddress,
    latencyMs: latency,
    accounts: Array.from({ length: accounts }, (_, index) => {
      return { id: others.accountId + index, name: `Simulator${index === 0 ? '' : ` ${index + 1}`}` };
    }),
    ...(apiKey && { apiKeys: apiKey }),
    ...(tlsCertFile && tlsKeyFile && { tls: { cert: readPem(tlsCertFile), key: readPem(tlsKeyFile) } }),
    ...(fault && { faults: fault }),
  };
}

function readPem(path: string): string {
  const read = readFile(path);
  if ('problem' in read) throw new UsageError(`${path} ${read.problem}`);
  return read.bytes.toString('utf8');
}
