import { readFileSync } from 'node:fs';
import { InvalidArgumentError, Option, type Command } from 'commander';
import { parseDuration } from '../../config/duration.ts';
import type { FaultRuleInput } from '../../simulator/faults/rule.ts';
import { FAULT_SYNTAX, parseFault } from '../../simulator/faults/shortSyntax.ts';
import { DEMO_API_KEY } from '../../simulator/settings.ts';
import type { SimulatorOptions } from '../../simulator/simulator.ts';
import type { TlsFiles } from '../../simulator/wire/listen.ts';
import { parseListenAddress } from '../../web/server/listenAddress.ts';
import { checked, collected } from './arguments.ts';

/** Where `simulate` listens unless it is told otherwise; the text is for the help. */
const DEFAULT_LISTEN = { host: '127.0.0.1', port: 9127, text: '127.0.0.1:9127' };

/** The simulator's flags as commander parses them. */
export interface SimulatorFlags {
  readonly listenAddress: { readonly host: string; readonly port: number };
  readonly seed: number;
  readonly applications: number;
  readonly hostsPerApplication: number;
  readonly keyTransactions?: number;
  readonly hostMetrics: 'documented' | 'all';
  readonly latency: number;
  readonly apiKey?: readonly string[];
  readonly tlsCertFile?: string;
  readonly tlsKeyFile?: string;
  readonly rounding: boolean;
  readonly inclusiveTo: boolean;
  readonly metricsFound: boolean;
  readonly callsPerMinute: number;
  readonly accountId: number;
  readonly nrqlPerMinute: number;
  readonly fault?: readonly FaultRuleInput[];
  readonly control: boolean;
}

/** Timers of the runtime overflow after 24.8 days. */
const LONGEST_LATENCY = 86_400_000;

function parseAddress(text: string): SimulatorFlags['listenAddress'] {
  const { host = '0.0.0.0', port } = checked(text, parseListenAddress);
  return { host, port };
}

function wholeNumber(least: number, most: number): (text: string) => number {
  return (text) => {
    const value = /^\d{1,15}$/.test(text) ? Number(text) : NaN;
    if (!(value >= least && value <= most)) {
      throw new InvalidArgumentError(`must be a whole number from ${least} to ${most}`);
    }
    return value;
  };
}

function parseLatency(text: string): number {
  const latency = parseDuration(text);
  if (latency === undefined || latency > LONGEST_LATENCY) {
    throw new InvalidArgumentError('must be a duration such as 200ms or 2s, at most 1d');
  }
  return latency;
}

function collectFault(text: string, earlier: readonly FaultRuleInput[] = []): readonly FaultRuleInput[] {
  return [...earlier, checked(text, parseFault)];
}

/** Adds the flags of the simulator to a command: `demo` takes them too, with another default address. */
export function addSimulatorFlags(command: Command, { host, port, text } = DEFAULT_LISTEN): Command {
  const address = new Option('--listen-address <address>', 'host and port to listen on')
    .argParser(parseAddress)
    .default({ host, port }, text);
  return command
    .addOption(address)
    .option('--seed <number>', 'another seed gives another world', wholeNumber(0, 4_294_967_295), 1)
    .option('--applications <number>', 'how many applications', wholeNumber(1, 100_000), 16)
    .option('--hosts-per-application <number>', 'how many hosts each application has', wholeNumber(1, 10_000), 2)
    .option(
      '--key-transactions <number>',
      'how many key transactions (default: half the applications, at least 8)',
      wholeNumber(0, 100_000),
    )
    .addOption(
      new Option(
        '--host-metrics <which>',
        'what a host can be asked: what the vendor documents, or all its agent reports',
      )
        .choices(['documented', 'all'])
        .default('documented'),
    )
    .option('--latency <duration>', 'every call waits this long, as 200ms or 2s', parseLatency, 0)
    .option('--api-key <key>', `a key that is let in; repeatable (default: ${DEMO_API_KEY})`, collected)
    .option('--tls-cert-file <file>', 'serve https; plain HTTP on the same port is sent there with a 301')
    .option('--tls-key-file <file>', 'private key of the certificate')
    .option('--no-rounding', 'do not round figures to three significant digits')
    .option('--inclusive-to', 'timeslices end with their last second, as in 2014', false)
    .option('--no-metrics-found', 'metric data do not say which names were found, as in 2014')
    .option(
      '--calls-per-minute <number>',
      '429 beyond this many calls per minute and key; 0 for no limit',
      wholeNumber(0, 1_000_000),
      0,
    )
    .option('--account-id <number>', 'the account that NerdGraph answers for', wholeNumber(1, 2_147_483_647), 1_234_567)
    .option(
      '--nrql-per-minute <number>',
      'NRQL queries beyond this many per minute get an error; 0 for no limit',
      wholeNumber(0, 1_000_000),
      3000,
    )
    .option('--fault <rule>', `a fault from the start; repeatable:\n${FAULT_SYNTAX}`, collectFault)
    .option('--no-control', 'do not serve /control/... on the loopback interface');
}

/** Reads the TLS files. Throws an Error that names the file, or the flag that is missing. */
function readTls({ tlsCertFile, tlsKeyFile }: SimulatorFlags): TlsFiles | undefined {
  if (tlsCertFile === undefined && tlsKeyFile === undefined) return undefined;
  if (tlsCertFile === undefined || tlsKeyFile === undefined) {
    throw new InvalidArgumentError('--tls-cert-file and --tls-key-file go together');
  }
  return { cert: readFileSync(tlsCertFile, 'utf8'), key: readFileSync(tlsKeyFile, 'utf8') };
}

/** What `startSimulator` needs, from the flags. Throws when a TLS file is missing or cannot be read. */
export function simulatorOptions(flags: SimulatorFlags): SimulatorOptions {
  const tls = readTls(flags);
  return {
    ...flags.listenAddress,
    seed: flags.seed,
    applications: flags.applications,
    hostsPerApplication: flags.hostsPerApplication,
    ...(flags.keyTransactions === undefined ? {} : { keyTransactions: flags.keyTransactions }),
    hostMetrics: flags.hostMetrics,
    latencyMs: flags.latency,
    ...(flags.apiKey === undefined ? {} : { apiKeys: flags.apiKey }),
    ...(tls === undefined ? {} : { tls }),
    rounding: flags.rounding,
    inclusiveTo: flags.inclusiveTo,
    metricsFound: flags.metricsFound,
    callsPerMinute: flags.callsPerMinute,
    accountId: flags.accountId,
    nrqlPerMinute: flags.nrqlPerMinute,
    ...(flags.fault === undefined ? {} : { faults: flags.fault }),
    control: flags.control,
  };
}
