import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { refreshInBackground } from '../../collect/background.ts';
import { systemClock } from '../../collect/schedule/clock.ts';
import { Collector } from '../../collect/collector.ts';
import { CollectorLog } from '../../collect/log.ts';
import type { Config } from '../../config/config.ts';
import type { Environment } from '../../config/placeholders.ts';
import type { ConfigResult } from '../../config/load.ts';
import { redactConfig } from '../../config/redact.ts';
import { Exposition } from '../../exposition/exposition.ts';
import { withStack } from '../../log/errorText.ts';
import type { Secrets } from '../../log/secrets.ts';
import type { DroppedSeries } from '../../metrics/sample.ts';
import { Telemetry } from '../../telemetry/telemetry.ts';
import { createApp } from '../../web/app.ts';
import { compareInWorker } from '../../web/authentication/compareInWorker.ts';
import type { ReloadResult } from '../../web/dependencies.ts';
import { startServers, type Servers } from '../../web/server/servers.ts';
import { systemdSockets } from '../../web/server/systemdSockets.ts';
import { Reloader } from './reloader.ts';
import { observeCalls } from '../upstream/observer.ts';
import { openReader } from '../upstream/readers.ts';
import type { ServeFlags } from '../flags/serveFlags.ts';
import { REVISION, VERSION } from '../process/version.ts';

/** Answers under way may take this long once a shutdown has begun, in milliseconds. */
const GRACE = 3_500;

/** And calls upstream that they wait for, this long. */
const CALLS_GRACE = 2_500;

export interface DaemonOptions {
  readonly config: Config;
  /** Reads the configuration again from where it came. */
  readonly readConfig: () => Promise<ConfigResult>;
  readonly flags: ServeFlags;
  readonly logger: Logger;
  readonly secrets: Secrets;
  /** Proxy settings, and sockets from systemd. */
  readonly environment: Environment;
}

/** A running exporter. */
export interface Daemon {
  readonly servers: Servers;
  /** Reads the configuration again and swaps it in when it is valid; never rejects. */
  reload(trigger: string): Promise<ReloadResult>;
  /** Lets scrapes in flight end, stops calling upstream, closes connections. */
  stop(): Promise<void>;
}

/** Puts the parts together and listens. Rejects with a ListenError when an address cannot be had. */
export async function startDaemon({
  config,
  readConfig,
  flags,
  logger,
  secrets,
  environment,
}: DaemonOptions): Promise<Daemon> {
  let current = config;
  let stopping = false;
  let stopBackground: (() => void) | undefined;
  const telemetry = new Telemetry({ version: VERSION, revision: REVISION, processMetrics: flags.processMetrics });
  const exposition = new Exposition();
  const collector = new Collector(config, {
    clock: systemClock,
    log: new CollectorLog(logger),
    openReader: (account, from) =>
      openReader(account, from, {
        secrets,
        environment,
        observer: (name) => observeCalls(telemetry.observer(name), logger.child({ account: name })),
        keyProblem: (name, problem) => logger.error({ account: name, problem }, 'The key file cannot be used'),
      }),
  });

  const followBackground = (): void => {
    if (current.collection.background === (stopBackground !== undefined)) return;
    stopBackground?.();
    stopBackground = current.collection.background
      ? refreshInBackground((scope, waitMs) => collector.refreshNow(scope, waitMs), systemClock, Math.random)
      : undefined;
  };

  /** Said in the log since the configuration was loaded. */
  const droppedFamilies = new Set<string>();
  const reloader = new Reloader({
    read: readConfig,
    apply: (next) => {
      collector.reconfigure(next);
      current = next;
      droppedFamilies.clear();
      telemetry.keepAccounts(current.accounts.map(({ name }) => name));
      followBackground();
    },
    ended: (ok) => telemetry.reloaded(ok, Date.now()),
    logger,
    mask: (text) => secrets.mask(text),
  });
  const reload = (trigger: string): Promise<ReloadResult> => reloader.reload(trigger);

  const noteDropped = (series: readonly DroppedSeries[]): void => {
    telemetry.dropped(series);
    const families = [...new Set(series.map(({ family }) => family))].filter((name) => !droppedFamilies.has(name));
    if (families.length === 0) return;
    for (const family of families) droppedFamilies.add(family);
    logger.warn({ families: families.join(' ') }, 'Series are left out: a limit is reached');
  };

  const failed = (error: unknown): void => logger.error({ err: withStack(error) }, 'A request could not be answered');
  const app = createApp({
    settings: { ...flags, version: VERSION },
    collector: () => collector,
    collection: () => current.collection,
    exposition,
    ownMetrics: (asOf) => telemetry.own(collector.status(asOf)),
    dropped: noteDropped,
    scraped: (result) => telemetry.scraped(result),
    configText: () => redactConfig(current),
    reload: flags.enableLifecycle ? () => reload('/-/reload') : undefined,
    stopping: () => stopping,
    now: Date.now,
    monotonic: () => systemClock.monotonic(),
    failed,
  });
  const servers = await startServers({
    app,
    listen: flags.listen,
    sockets: flags.systemdSocket ? systemdSockets(environment, process.pid) : undefined,
    webConfigFile: flags.webConfigFile,
    compare: compareInWorker(),
    warn: (message) => logger.warn(message),
    failed,
    monotonic: () => performance.now(),
  });
  telemetry.reloaded(true, Date.now());
  for (const address of servers.addresses) logger.info({ address, scheme: servers.scheme }, 'Listening');
  followBackground();

  return {
    servers,
    reload,
    stop: async () => {
      stopping = true;
      stopBackground?.();
      const closed = servers.close(GRACE);
      // A scrape in flight may still get its answer; then calls are cut off and it is answered from what is held.
      await Promise.race([closed, sleep(CALLS_GRACE, undefined, { ref: false })]);
      await collector.stop();
      await closed;
    },
  };
}
