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
import { Telemetry } from '../../telemetry/telemetry.ts';
import { createApp } from '../../web/app.ts';
import { compareInWorker } from '../../web/authentication/compareInWorker.ts';
import type { ReloadResult } from '../../web/dependencies.ts';
import { startServers, type Servers } from '../../web/server/servers.ts';
import { systemdSockets } from '../../web/server/systemdSockets.ts';
import type { ServeFlags } from '../flags/serveFlags.ts';
import { REVISION, VERSION } from '../process/version.ts';
import { observeCalls } from '../upstream/observer.ts';
import { openReader } from '../upstream/readers.ts';
import { BackgroundTimer } from './backgroundTimer.ts';
import { DroppedFamilies } from './droppedFamilies.ts';
import { Reloader } from './reloader.ts';

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
export async function startDaemon(options: DaemonOptions): Promise<Daemon> {
  const { flags, logger, secrets, environment } = options;
  const telemetry = new Telemetry({ version: VERSION, revision: REVISION, processMetrics: flags.processMetrics });
  const collector = createCollector(options, telemetry);
  const background = new BackgroundTimer(() =>
    refreshInBackground((scope, waitMs) => collector.refreshNow(scope, waitMs), systemClock, Math.random),
  );
  const droppedFamilies = new DroppedFamilies(logger);
  let { config } = options;
  let stopping = false;

  const reloader = new Reloader({
    read: options.readConfig,
    apply: (next) => {
      collector.reconfigure(next);
      config = next;
      droppedFamilies.forget();
      telemetry.keepAccounts(config.accounts.map(({ name }) => name));
      background.set(config.collection.background);
    },
    ended: (ok) => telemetry.reloaded(ok, Date.now()),
    logger,
    mask: (text) => secrets.mask(text),
  });
  const failed = (error: unknown): void => logger.error({ err: withStack(error) }, 'A request could not be answered');
  const app = createApp({
    settings: { ...flags, version: VERSION },
    collector: () => collector,
    collection: () => config.collection,
    exposition: new Exposition(),
    ownMetrics: (accounts) => telemetry.own(accounts),
    dropped: (series) => {
      telemetry.dropped(series);
      droppedFamilies.log(series);
    },
    scraped: (result) => telemetry.scraped(result),
    configText: () => redactConfig(config),
    reload: flags.enableLifecycle ? () => reloader.reload('/-/reload') : undefined,
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
    monotonic: () => systemClock.monotonic(),
  });
  telemetry.reloaded(true, Date.now());
  for (const address of servers.addresses) logger.info({ address, scheme: servers.scheme }, 'Listening');
  background.set(config.collection.background);

  return {
    servers,
    reload: (trigger) => reloader.reload(trigger),
    stop: async () => {
      stopping = true;
      background.stop();
      const closed = servers.close(GRACE);
      // A scrape in flight may still get its answer; then calls are cut off and it is answered from what is held.
      await Promise.race([closed, sleep(CALLS_GRACE, undefined, { ref: false })]);
      await collector.stop();
      await closed;
    },
  };
}

function createCollector({ config, logger, secrets, environment }: DaemonOptions, telemetry: Telemetry): Collector {
  return new Collector(config, {
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
}
