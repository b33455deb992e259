import process from 'node:process';
import { InvalidArgumentError, Option, type Command } from 'commander';
import { renderCommandLine } from './typed.ts';
import { LOG_FORMATS, LOG_LEVELS, type LogFormat, type LogLevel } from '../log/logger.ts';
import { PATHS } from '../web/dependencies.ts';
import { parseListenAddress, type ListenAddress } from '../web/server/listening.ts';
import { adviseOnDuration, parseDuration } from '../config/duration.ts';

/** Returns a parser for commander. Commander prints the flag before the message of an error that `parse` throws. */
export function parseWith<T>(parse: (text: string) => T): (text: string) => T {
  return (text) => {
    try {
      return parse(text);
    } catch (error) {
      throw new InvalidArgumentError(error instanceof Error ? error.message : String(error));
    }
  };
}

export function collectWith<T>(parse: (text: string) => T): (text: string, before?: readonly T[]) => readonly T[] {
  return (text, before = []) => [...before, parseWith(parse)(text)];
}

export function parseWholeNumber(min: number, max = Number.MAX_SAFE_INTEGER): (text: string) => number {
  const range = max === Number.MAX_SAFE_INTEGER ? `, ${min} or more` : ` from ${min} to ${max}`;
  return parseWith((text) => {
    const value = /^\d{1,16}$/.test(text) ? Number(text) : NaN;
    if (!(value >= min && value <= max)) throw new Error(`It must be a whole number${range}.`);
    return value;
  });
}

/** Returns a parser of durations, in milliseconds. `words` describe the valid durations in its error. */
export function parseValidDuration(words: string, isValid: (ms: number) => boolean): (text: string) => number {
  return parseWith((text) => {
    const milliseconds = parseDuration(text);
    if (milliseconds !== undefined && isValid(milliseconds)) return milliseconds;
    const advice = milliseconds === undefined ? adviseOnDuration(text) : '';
    throw new Error(`It must be a duration ${words}${advice === '' ? '' : ` (${advice})`}.`);
  });
}

/** The flags of every command but `simulate`, as commander parses them. */
export interface CommonOptions {
  readonly 'config.file'?: string;
  readonly 'log.level': LogLevel;
  readonly 'log.format': LogFormat;
}

const CONFIG_FILE = 'configuration file (default: config.yaml, or the environment without one)';

export function addCommonFlags(command: Command, aboutConfigFile = CONFIG_FILE): Command {
  return addLogFlags(command.option('--config.file <path>', aboutConfigFile));
}

export function addLogFlags(command: Command): Command {
  return addColorFlag(command)
    .addOption(new Option('--log.level <level>', 'lowest level to log').choices(LOG_LEVELS).default('info'))
    .addOption(new Option('--log.format <format>', 'format of log lines').choices(LOG_FORMATS).default('logfmt'));
}

/** Adds `--color`. It sets the variables that Node.js reads, so it applies to all output of the process. */
export function addColorFlag(command: Command): Command {
  return command
    .addOption(
      new Option('--color <when>', 'whether to print in colours; auto: on a terminal, unless NO_COLOR is set')
        .choices(['auto', 'always', 'never'])
        .default('auto'),
    )
    .on('option:color', (when: string) => {
      if (when === 'auto') return;
      delete process.env['NO_COLOR'];
      process.env['FORCE_COLOR'] = when === 'always' ? '1' : '0';
    });
}

export function createFormatFlag(choices: readonly string[]): Option {
  return new Option('--format <format>', 'format of the result').choices(choices).default(choices[0]);
}

const DEFAULT_ADDRESS = ':9126';

export function addWebFlags(command: Command): Command {
  return command
    .option(
      '--web.listen-address <address>',
      `address to listen on: host:port, :port or [::1]:port; repeatable (default: ${DEFAULT_ADDRESS})`,
      collectWith(parseListenAddress),
    )
    .option('--web.telemetry-path <path>', 'path of the metrics', parseTelemetryPath, '/metrics')
    .option('--web.config.file <path>', 'TLS and basic auth, in the exporter-toolkit format')
    .option('--web.enable-lifecycle', 'allow reloading by POST or PUT to /-/reload', false)
    .option(
      '--web.max-requests <number>',
      'scrapes that may wait for New Relic at once; one more gets the last good values; 0: no limit',
      parseWholeNumber(0),
      40,
    )
    .option('--web.external-url <url>', 'where users find the exporter, behind a reverse proxy', parseUrl)
    .option('--web.route-prefix <path>', 'prefix of all paths (default: the path of --web.external-url)', parsePath)
    .option('--web.disable-exporter-metrics', 'leave out the metrics process_* and nodejs_*', false)
    .option('--web.systemd-socket', 'listen on the sockets that systemd hands over', false);
}

export function addServeFlags(command: Command): Command {
  const description = 'check the configuration and exit, as the command check';
  return addWebFlags(addCommonFlags(command)).option('--config.check', description, false);
}

export type ServeFlags = Readonly<ReturnType<typeof readServeFlags>>;

export function readServeFlags(options: Readonly<Record<string, unknown>>) {
  const externalUrl = options['web.externalUrl'] as URL | undefined;
  const listen = options['web.listenAddress'] as readonly ListenAddress[] | undefined;
  return {
    configFile: options['config.file'] as string | undefined,
    listen: listen ?? [parseListenAddress(DEFAULT_ADDRESS)],
    telemetryPath: options['web.telemetryPath'] as string,
    webConfigFile: options['web.config.file'] as string | undefined,
    enableLifecycle: options['web.enableLifecycle'] as boolean,
    maxRequests: options['web.maxRequests'] as number,
    externalUrl,
    routePrefix: (options['web.routePrefix'] as string | undefined) ?? externalUrl?.pathname ?? '/',
    processMetrics: options['web.disableExporterMetrics'] !== true,
    systemdSocket: options['web.systemdSocket'] as boolean,
  };
}

const parsePath = parseWith((text) => {
  if (!/^\/[A-Za-z0-9._~!$&'()*+,;=:@/-]*$/.test(text) || text.includes('//')) {
    throw new Error('It must be a path that begins with a slash, such as /metrics.');
  }
  return text;
});

const parseTelemetryPath = parseWith((text) => {
  if (Object.values<string>(PATHS).includes(text)) {
    throw new Error('It is the path of another endpoint: choose one such as /metrics.');
  }
  return parsePath(text);
});

const parseUrl = parseWith((text) => {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !['http:', 'https:'].includes(url.protocol)) {
    throw new Error('It must be an address such as https://example.org/exporter.');
  }
  return url;
});

/** Renders the help of a command. `flags` has the flags of each example. */
export function renderExamples(command: string, ...flags: readonly string[]): string {
  return ['', 'Examples:', ...flags.map((flag) => `  ${renderCommandLine(command, flag)}`)].join('\n');
}
