import type { Logger } from 'pino';
import type { Config } from '../../config/config.ts';
import { formatFault } from '../../config/fault.ts';
import type { ConfigResult } from '../../config/load.ts';
import { errorText, withStack } from '../../log/errorText.ts';
import type { ReloadResult } from '../../web/dependencies.ts';

export interface ReloaderOptions {
  /** Reads the configuration again from where it came. */
  readonly read: () => Promise<ConfigResult>;
  /** Takes a valid configuration over as a whole; throws, and changes nothing, when something cannot be built from it. */
  readonly apply: (config: Config) => void;
  /** Told how each reload has ended. */
  readonly ended: (ok: boolean) => void;
  readonly logger: Pick<Logger, 'info' | 'warn' | 'error'>;
  readonly mask: (text: string) => string;
}

/** Reloads the configuration, one reload at a time: two at once could leave that of the older file running. */
export class Reloader {
  readonly #options: ReloaderOptions;
  #last: Promise<unknown> = Promise.resolve();

  constructor(options: ReloaderOptions) {
    this.#options = options;
  }

  /** Takes over what is read if it is valid and everything can be built from it, else nothing. Never rejects. */
  reload(trigger: string): Promise<ReloadResult> {
    const reloaded = this.#last.then(() => this.#reload(trigger));
    this.#last = reloaded;
    return reloaded;
  }

  async #reload(trigger: string): Promise<ReloadResult> {
    const { read, apply, ended, logger, mask } = this.#options;
    try {
      const result = await read();
      if ('faults' in result) {
        const faults = result.faults.map(formatFault);
        ended(false);
        logger.error({ trigger, faults }, 'The configuration is invalid, the running one stays');
        return { ok: false, faults };
      }
      apply(result.config);
      ended(true);
      for (const warning of result.warnings) logger.warn(formatFault(warning));
      logger.info({ trigger }, 'Configuration reloaded');
      return { ok: true };
    } catch (error) {
      ended(false);
      logger.error({ trigger, err: withStack(error) }, 'The configuration cannot be used, the running one stays');
      return { ok: false, faults: [mask(errorText(error, false))] };
    }
  }
}
