import process from 'node:process';
import type { Logger } from 'pino';
import { setTimeout as sleep } from 'node:timers/promises';
import { describeEnd, endOfLife, type Config } from '../config/config.ts';
import { formatDiagnostic } from '../config/diagnostic.ts';
import { errorText } from '../log/logger.ts';
import type { ReloadFailure } from '../web/dependencies.ts';
import { systemClock } from '../eventLoop/clock.ts';
import { Collector } from '../collect/collector.ts';
import { SeriesMask } from '../exposition/seriesMask.ts';
import type { Environment } from '../config/yaml/placeholders.ts';
import { redactConfig } from '../config/schema/file.ts';
import { Telemetry } from '../telemetry/telemetry.ts';
import { createApp } from '../web/app.ts';
import { compareInWorker } from '../web/authentication/passwords.ts';
import { startServers, type Servers } from '../web/server/servers.ts';
import { findSystemdSockets, ListenError } from '../web/server/listening.ts';
import { type ServeFlags, type CommonOptions, readServeFlags } from './flags.ts';
import { HOME, REVISION, VERSION } from './version.ts';
import { observeCalls, openReader } from './createReader.ts';
import { describeOrigin, readFrom, type ConfigResult } from '../config/load.ts';
import { loadOrExit, openLog } from './configuration.ts';
import { ExitStatus } from './process.ts';
import { runService } from './service.ts';

/** Runs the command `serve` until a signal stops it. Rejects with an ExitStatus when it cannot start. */
export async function serve(options: Readonly<Record<string, unknown>> & CommonOptions): Promise<void> {
  const flags = readServeFlags(options);
  const log = openLog(options);
  const { logger } = log;
  await runService(
    logger,
    async () => {
      const { path, config, warnings } = await loadOrExit({ ...flags, once: false });
      logger.info(describeOrigin(path));
      for (const warning of warnings) logger.warn(formatDiagnostic(warning));
      for (const account of config.accounts) {
        const end = endOfLife(account);
        if (end === undefined) continue;
        const ends = { account: account.name, interface: describeEnd(end, Date.now() / 1000) };
        logger.warn(ends, 'The interface of an account ends');
      }
      const readConfig = (): Promise<ConfigResult> => readFrom(path, process.env, false);
      return startDaemon({ config, readConfig, flags, log, environment: process.env });
    },
    'reload',
  );
}

/** Time for requests in flight to finish during a shutdown, in milliseconds. */
const GRACE = 3_500;

/** The same for calls to New Relic. After it, scrapes get the last values. */
const CALLS_GRACE = 2_500;

/** Starts the daemon. Logs an address that it cannot listen on, and rejects with an ExitStatus. */
export async function startDaemon(options: {
  readonly config: Config;
  readonly readConfig: () => Promise<ConfigResult>;
  readonly flags: ServeFlags;
  readonly log: ReturnType<typeof openLog>;
  readonly environment: Environment;
}) {
  const { flags, environment } = options;
  const { logger, secrets, droppedLines } = options.log;
  const { processMetrics } = flags;
  const telemetry = new Telemetry({ version: VERSION, revision: REVISION, processMetrics, droppedLines });
  let { config } = options;
  const surroundings: Parameters<typeof openReader>[2] = {
    secrets,
    environment,
    observer: (name) => observeCalls(telemetry.observer(name), logger.child({ account: name })),
    keyProblem: (name, problem) => logger.error({ account: name, problem }, 'Cannot use the key file'),
  };
  const collector = new Collector(config, {
    clock: systemClock,
    log: logger,
    openReader: (account, from, limiter, before) => openReader(account, from, surroundings, limiter, before),
  });
  let stopping = false;
  let stopBackground: (() => void) | undefined;
  const refreshAsConfigured = (): void => {
    const isWanted = config.collection.background;
    if (!isWanted) stopBackground?.();
    stopBackground = isWanted ? (stopBackground ?? collector.refreshInBackground()) : undefined;
  };
  /** Families that lost series to a limit. The log has each family once per loaded configuration. */
  const droppedFamilies = new Set<string>();

  let reloadFailure: ReloadFailure | undefined;
  const reload = createReloader({
    read: options.readConfig,
    apply: (next) => {
      collector.reconfigure(next);
      config = next;
      droppedFamilies.clear();
      telemetry.keepAccounts([...config.accounts, ...collector.accounts].map(({ name }) => name));
      refreshAsConfigured();
    },
    ended: (diagnostics) => {
      telemetry.reloaded(diagnostics === undefined, Date.now());
      reloadFailure = diagnostics === undefined ? undefined : { failedAt: Date.now() / 1000, diagnostics };
    },
    stopping: () => stopping,
    logger,
    mask: (text) => secrets.mask(text),
  });
  const logFailedRequest = (error: unknown): void =>
    logger.error({ err: errorText(error, true) }, 'Cannot answer a request');
  const app = createApp({
    settings: { ...flags, version: VERSION, docs: `${HOME}/blob/main/docs` },
    collector: () => collector,
    collection: () => config.collection,
    ownMetrics: (accounts, entries, families) => telemetry.readFamilies(accounts, entries, families),
    dropped: (series) => {
      telemetry.dropped(series);
      const families = [...new Set(series.map(({ family }) => family))].filter((one) => !droppedFamilies.has(one));
      for (const family of families) droppedFamilies.add(family);
      if (families.length > 0) {
        logger.warn({ families: families.join(' ') }, 'Dropping series: they exceed a limit');
      }
    },
    scraped: (result) => telemetry.scrapes.inc({ result }),
    configText: () => redactConfig(config),
    mask: new SeriesMask(
      (text) => secrets.maskPublished(text),
      () => secrets.size,
    ),
    reload: flags.enableLifecycle ? () => reload('/-/reload') : undefined,
    reloadFailure: () => reloadFailure,
    stopping: () => stopping,
    now: Date.now,
    monotonic: () => systemClock.monotonic(),
    warn: (message) => logger.warn(message),
    failed: logFailedRequest,
  });
  const servers = await listen(logger, () =>
    startServers({
      app,
      listen: flags.listen,
      sockets: flags.systemdSocket ? findSystemdSockets(environment, process.pid) : undefined,
      webConfigFile: flags.webConfigFile,
      compare: compareInWorker(),
      routePrefix: flags.routePrefix,
      refusedLogin: () => telemetry.refusedLogins.inc(),
      warn: (message) => logger.warn(message),
      failed: logFailedRequest,
      monotonic: () => systemClock.monotonic(),
    }),
  );
  telemetry.reloaded(true, Date.now());
  for (const address of servers.addresses) logger.info({ address, scheme: servers.scheme }, 'Listening');
  refreshAsConfigured();

  return {
    servers,
    reload: () => reload('SIGHUP'),
    /** Waits for scrapes in flight, stops calls to New Relic, closes connections. */
    stop: async (): Promise<void> => {
      stopping = true;
      stopBackground?.();
      const closed = servers.close(GRACE);
      await Promise.race([closed, sleep(CALLS_GRACE, undefined, { ref: false })]);
      await collector.stop();
      await closed;
    },
  };
}

async function listen(logger: Logger, start: () => Promise<Servers>): Promise<Servers> {
  try {
    return await start();
  } catch (error) {
    if (!(error instanceof ListenError)) throw error;
    logger.error(error.message);
    throw new ExitStatus(1);
  }
}

export interface ReloaderOptions {
  readonly read: () => Promise<ConfigResult>;
  /** Applies a valid configuration. Throws, and changes nothing, when it cannot build a part. */
  readonly apply: (config: Config) => void;
  readonly ended: (diagnostics: readonly string[] | undefined) => void;
  /** True once the exporter stops: applying a configuration then would leave new readers open. */
  readonly stopping: () => boolean;
  readonly logger: Pick<Logger, 'info' | 'warn' | 'error'>;
  readonly mask: (text: string) => string;
}

/** Pause between two reloads, in milliseconds. Without it, each request of a flood would start a reload. */
const PAUSE = 100;

/**
 * Returns a function that applies the configuration, or changes nothing and returns the faults. It never rejects.
 * `trigger` is for the log. It reloads once at a time: concurrent reloads could apply the older file last. Requests
 * during a reload share the next reload, because the current reload may have read the file before its change.
 */
export function createReloader({ read, apply, ended, stopping, logger, mask }: ReloaderOptions) {
  let running: Promise<unknown> | undefined;
  let next: Promise<readonly string[]> | undefined;
  const reloadNow = async (trigger: string): Promise<readonly string[]> => {
    try {
      const result = await read();
      if (stopping()) return ['the exporter is stopping'];
      if ('diagnostics' in result) {
        const diagnostics = result.diagnostics.map(formatDiagnostic);
        ended(diagnostics);
        for (const fault of diagnostics) logger.error(fault);
        logger.error({ trigger, faults: diagnostics.length }, 'Invalid configuration: keeping the running one');
        return diagnostics;
      }
      apply(result.config);
      ended(undefined);
      for (const warning of result.warnings) logger.warn(formatDiagnostic(warning));
      logger.info({ trigger }, 'Configuration reloaded');
      return [];
    } catch (error) {
      const diagnostics = [mask(errorText(error, false))];
      ended(diagnostics);
      logger.error({ trigger, err: errorText(error, true) }, 'Cannot apply the configuration: keeping the running one');
      return diagnostics;
    }
  };
  return (trigger: string): Promise<readonly string[]> => {
    next ??= Promise.resolve(running).then(() => {
      next = undefined;
      const reloaded = reloadNow(trigger);
      running = reloaded.then(() => sleep(PAUSE, undefined, { ref: false }));
      return reloaded;
    });
    return next;
  };
}
