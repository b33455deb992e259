import type { Command } from 'commander';
import type { LogFormat, LogLevel } from '../../log/logger.ts';
import { isTaken } from '../../web/routes/paths.ts';
import { parseListenAddress, type ListenAddress } from '../../web/server/listenAddress.ts';
import { checked, parseCount } from './arguments.ts';

/** The flags of `serve`, validated. */
export interface ServeFlags {
  /** Undefined when not given: config.yaml, or the environment. */
  readonly configFile: string | undefined;
  readonly listen: readonly ListenAddress[];
  readonly telemetryPath: string;
  readonly webConfigFile: string | undefined;
  readonly enableLifecycle: boolean;
  readonly maxRequests: number;
  readonly externalUrl: URL | undefined;
  readonly routePrefix: string;
  /** False: without the families `process_*` and `nodejs_*`. */
  readonly processMetrics: boolean;
  readonly systemdSocket: boolean;
  readonly configCheck: boolean;
  readonly logLevel: LogLevel;
  readonly logFormat: LogFormat;
}

const DEFAULT_ADDRESS = ':9126';

/** Adds the flags of the web side, which `serve` and `demo` take. */
export function addWebFlags(command: Command): Command {
  return command
    .option(
      '--web.listen-address <address>',
      `address to listen on: host:port, :port or [::1]:port; repeatable (default: ${DEFAULT_ADDRESS})`,
      (text: string, before: readonly ListenAddress[] | undefined) => [
        ...(before ?? []),
        checked(text, parseListenAddress),
      ],
    )
    .option(
      '--web.telemetry-path <path>',
      'path of the metrics',
      (text) => checked(text, parseTelemetryPath),
      '/metrics',
    )
    .option('--web.config.file <path>', 'TLS and basic auth, in the exporter-toolkit format')
    .option('--web.enable-lifecycle', 'allow reloading by POST or PUT to /-/reload', false)
    .option(
      '--web.max-requests <number>',
      'scrapes answered at once; more get 503; 0: no limit',
      (text) => checked(text, parseCount),
      40,
    )
    .option('--web.external-url <url>', 'where users find the exporter, behind a reverse proxy', (text) =>
      checked(text, parseUrl),
    )
    .option('--web.route-prefix <path>', 'prefix of all paths (default: the path of --web.external-url)', (text) =>
      checked(text, parsePath),
    )
    .option('--web.disable-exporter-metrics', 'leave out the metrics process_* and nodejs_*', false)
    .option('--web.systemd-socket', 'listen on the sockets that systemd hands over', false);
}

/** The flags as `serve` uses them; `options` is what commander parsed. */
export function readServeFlags(options: Readonly<Record<string, unknown>>): ServeFlags {
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
    configCheck: options['config.check'] === true,
    logLevel: options['log.level'] as LogLevel,
    logFormat: options['log.format'] as LogFormat,
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
