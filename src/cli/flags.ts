import { InvalidArgumentError, Option, type Command } from 'commander';
import { LOG_FORMATS, LOG_LEVELS, type LogFormat, type LogLevel } from '../log/logger.ts';
import { isTaken } from '../web/dependencies.ts';
import { parseListenAddress, type ListenAddress } from '../web/server/listening.ts';
import { parseDuration } from '../config/duration.ts';
import { readFile } from '../config/files.ts';
import { type FaultRuleInput, FAULT_SYNTAX, parseFault } from '../simulator/faults/faultRules.ts';
import { FACTS } from '../tools/facts/facts.ts';
import { suggest } from '../config/wording.ts';
import { DEMO_API_KEY } from '../simulator/simulatorSettings.ts';
import type { SimulatorOptions } from '../simulator/simulator.ts';

/** Makes a parser of a flag for commander, which puts the flag before the message of an error that `parse` throws. */
export function parsed<T>(parse: (text: string) => T): (text: string) => T {
  return (text) => {
    try {
      return parse(text);
    } catch (error) {
      throw new InvalidArgumentError(error instanceof Error ? error.message : String(error));
    }
  };
}

/** As {@link parsed}, for a flag that may be given several times: collects its values in their order. */
export function parsedEach<T>(parse: (text: string) => T): (text: string, before?: readonly T[]) => readonly T[] {
  return (text, before = []) => [...before, parsed(parse)(text)];
}

/** Makes a parser of whole numbers from `least` to `most` for commander. */
export function wholeNumber(min: number, max = Number.MAX_SAFE_INTEGER): (text: string) => number {
  const range = max === Number.MAX_SAFE_INTEGER ? `, ${min} or more` : ` from ${min} to ${max}`;
  return parsed((text) => {
    const value = /^\d{1,16}$/.test(text) ? Number(text) : NaN;
    if (!(value >= min && value <= max)) throw new Error(`It must be a whole number${range}.`);
    return value;
  });
}

/** Reads a ratio from 0 to 1. Throws an Error whose message is a sentence. */
export function parseRatio(text: string): number {
  const ratio = /^(?:\d*\.)?\d+$/.test(text) ? Number(text) : NaN;
  if (!(ratio <= 1)) throw new Error('It must be a ratio from 0 to 1, such as 0.01.');
  return ratio;
}

/**
 * Makes a parser of durations for commander, which returns milliseconds.
 *
 * @param words the valid durations, for the message
 */
export function duration(words: string, isValid: (milliseconds: number) => boolean): (text: string) => number {
  return parsed((text) => {
    const milliseconds = parseDuration(text);
    if (milliseconds === undefined || !isValid(milliseconds)) throw new Error(`It must be a duration ${words}.`);
    return milliseconds;
  });
}

/** The flags that every command but `simulate` takes, as commander gives them. */
export interface CommonOptions {
  readonly 'config.file'?: string;
  readonly 'log.level': LogLevel;
  readonly 'log.format': LogFormat;
}

const CONFIG_FILE = 'configuration file (default: config.yaml, or the environment without one)';

/** Adds the flags of {@link CommonOptions}: which configuration, and how to log. */
export function addCommonFlags(command: Command, aboutConfigFile = CONFIG_FILE): Command {
  return command
    .option('--config.file <path>', aboutConfigFile)
    .addOption(
      new Option('--log.level <level>', 'least severe level that is logged').choices(LOG_LEVELS).default('info'),
    )
    .addOption(new Option('--log.format <format>', 'how log lines are written').choices(LOG_FORMATS).default('logfmt'));
}

export function formatFlag(choices: readonly string[]): Option {
  return new Option('--format <format>', 'how the result is written').choices(choices).default(choices[0]);
}

const DEFAULT_ADDRESS = ':9126';

/** Adds the flags of the web side, which `serve` and `demo` take. */
export function addWebFlags(command: Command): Command {
  return command
    .option(
      '--web.listen-address <address>',
      `address to listen on: host:port, :port or [::1]:port; repeatable (default: ${DEFAULT_ADDRESS})`,
      parsedEach(parseListenAddress),
    )
    .option('--web.telemetry-path <path>', 'path of the metrics', parsed(parseTelemetryPath), '/metrics')
    .option('--web.config.file <path>', 'TLS and basic auth, in the exporter-toolkit format')
    .option('--web.enable-lifecycle', 'allow reloading by POST or PUT to /-/reload', false)
    .option(
      '--web.max-requests <number>',
      'scrapes answered at once; one more ends the longest wait for New Relic; 0: no limit',
      wholeNumber(0),
      40,
    )
    .option('--web.external-url <url>', 'where users find the exporter, behind a reverse proxy', parsed(parseUrl))
    .option(
      '--web.route-prefix <path>',
      'prefix of all paths (default: the path of --web.external-url)',
      parsed(parsePath),
    )
    .option('--web.disable-exporter-metrics', 'leave out the metrics process_* and nodejs_*', false)
    .option('--web.systemd-socket', 'listen on the sockets that systemd hands over', false);
}

export type ServeFlags = Readonly<ReturnType<typeof readServeFlags>>;

/** The flags as `serve` uses them; `options` is commander's result. */
export function readServeFlags(options: Readonly<Record<string, unknown>>) {
  const externalUrl = options['web.externalUrl'] as URL | undefined;
  const listen = options['web.listenAddress'] as readonly ListenAddress[] | undefined;
  return {
    /** Undefined when not given, for config.yaml or the environment. */
    configFile: options['config.file'] as string | undefined,
    listen: listen ?? [parseListenAddress(DEFAULT_ADDRESS)],
    telemetryPath: options['web.telemetryPath'] as string,
    webConfigFile: options['web.config.file'] as string | undefined,
    enableLifecycle: options['web.enableLifecycle'] as boolean,
    maxRequests: options['web.maxRequests'] as number,
    externalUrl,
    routePrefix: (options['web.routePrefix'] as string | undefined) ?? externalUrl?.pathname ?? '/',
    /** False to leave out the families `process_*` and `nodejs_*`. */
    processMetrics: options['web.disableExporterMetrics'] !== true,
    systemdSocket: options['web.systemdSocket'] as boolean,
    configCheck: options['config.check'] === true,
  };
}

function parsePath(text: string): string {
  if (!/^\/[A-Za-z0-9._~!$&'()*+,;=:@/-]*$/.test(text) || text.includes('//')) {
    throw new Error('It must be a path that begins with a slash, such as /metrics.');
  }
  return text;
}

function parseTelemetryPath(text: string): string {
  if (isTaken(text)) throw new Error('It is the path of another endpoint: choose one such as /metrics.');
  return parsePath(text);
}

function parseUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !['http:', 'https:'].includes(url.protocol)) {
    throw new Error('It must be an address such as https://example.org/exporter.');
  }
  return url;
}

/** The default address of `simulate`; the text is for the help. */
const DEFAULT_LISTEN = { host: '127.0.0.1', port: 9127, text: '127.0.0.1:9127' };

/** The simulator's flags as commander parses them; most are named as in SimulatorOptions. */
export type SimulatorFlags = Omit<
  SimulatorOptions,
  'host' | 'port' | 'latencyMs' | 'apiKeys' | 'tls' | 'faults' | 'facts' | 'now'
> &
  Required<Pick<SimulatorOptions, 'seed' | 'applications' | 'accountId' | 'control'>> & {
    readonly listenAddress: { readonly host: string; readonly port: number };
    readonly latency: number;
    readonly apiKey?: readonly string[];
    readonly tlsCertFile?: string;
    readonly tlsKeyFile?: string;
    readonly fault?: readonly FaultRuleInput[];
    readonly fact?: readonly string[];
  };

/** A day is the longest latency, because the timers of Node.js overflow after 24.8 days. */
const parseLatency = duration('such as 200ms or 2s, at most 1d', (milliseconds) => milliseconds <= 86_400_000);

function parseAddress(text: string): SimulatorFlags['listenAddress'] {
  const { host = '0.0.0.0', port } = parseListenAddress(text);
  return { host, port };
}

function parseFact(text: string): string {
  // The simulator cannot contradict this one: its schema allows no golden metric without its parts.
  const ids: readonly string[] = FACTS.map(({ id }) => id).filter((id) => id !== 'nerdgraph_golden_metrics');
  const known = [...ids, 'many_rows', 'many_entities'];
  if (!known.includes(text)) throw new Error(`must be one of ${known.join(', ')}${suggest(text, known)}`);
  return text;
}

/** Adds the flags of the simulator to a command; `demo` has them too, with another default address. */
export function addSimulatorFlags(command: Command, { host, port, text } = DEFAULT_LISTEN): Command {
  const address = new Option('--listen-address <address>', 'host and port to listen on')
    .argParser(parsed(parseAddress))
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
        'what a host can be asked: what New Relic documents, or all its agent reports',
      )
        .choices(['documented', 'all'])
        .default('documented'),
    )
    .option('--latency <duration>', 'every call waits this long, as 200ms or 2s', parseLatency, 0)
    .option('--api-key <key>', `a key that is let in; repeatable (default: ${DEMO_API_KEY})`, parsedEach(String))
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
    .option(
      '--nrql-snapping',
      'NRQL over metrics answers ranges of an hour and more for whole steps of 5 minutes, of a day of 10',
      false,
    )
    .option(
      '--late-data <share>',
      'this share of the data, from 0 to 1, arrives one to eight minutes late',
      parsed(parseRatio),
      0,
    )
    .option('--fault <rule>', `a fault from the start; repeatable:\n${FAULT_SYNTAX}`, parsedEach(parseFault))
    .option('--fact <id>', 'a fact that the simulator contradicts (docs/facts.md); repeatable', parsedEach(parseFact))
    .option('--no-control', 'do not serve /control/... on the loopback interface');
}

/** The options of `startSimulator` from the flags. Throws when a TLS file is missing or cannot be read. */
export function simulatorOptions(flags: SimulatorFlags): SimulatorOptions {
  const { listenAddress, latency, apiKey, fault, fact, tlsCertFile, tlsKeyFile, ...others } = flags;
  if ((tlsCertFile === undefined) !== (tlsKeyFile === undefined)) {
    throw new InvalidArgumentError('--tls-cert-file and --tls-key-file go together');
  }
  return {
    ...others,
    ...listenAddress,
    latencyMs: latency,
    ...(apiKey === undefined ? {} : { apiKeys: apiKey }),
    ...(tlsCertFile === undefined || tlsKeyFile === undefined
      ? {}
      : { tls: { cert: readPem(tlsCertFile), key: readPem(tlsKeyFile) } }),
    ...(fault === undefined ? {} : { faults: fault }),
    ...(fact === undefined ? {} : { facts: new Set(fact) }),
  };
}

function readPem(path: string): string {
  const read = readFile(path);
  if ('problem' in read) throw new InvalidArgumentError(`${path} ${read.problem}`);
  return read.bytes.toString('utf8');
}
