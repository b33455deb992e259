import { statSync } from 'node:fs';
import { formatFault } from '../../config/fault.ts';
import { lostProtection } from './lostProtection.ts';
import { OPEN_WEB_CONFIG, readWebConfig, type WebConfig, type WebConfigResult } from './webConfig.ts';

/**
 * The web configuration in force. It looks at the files' change times whenever it is asked, and reads them again when
 * one has changed, so that certificates, users and headers need no restart. Synchronous, because a TLS handshake cannot
 * wait for a new certificate. A file that takes protection away, but not on purpose, is not used: the one before stays.
 */
export class WebConfigStore {
  readonly #path: string | undefined;
  readonly #warn: (message: string) => void;
  #files: readonly string[] = [];
  #stamp = '';
  #result: WebConfigResult = { config: OPEN_WEB_CONFIG };
  /** The last one that was valid. */
  #valid: WebConfig | undefined;

  /** `path` undefined: no web configuration; `warn` is told why a changed file is not used. */
  constructor(path: string | undefined, warn: (message: string) => void) {
    this.#path = path;
    this.#warn = warn;
    if (path !== undefined) this.#read(path);
  }

  /** The same object as long as nothing has changed. */
  current(): WebConfigResult {
    if (this.#path !== undefined && stampOf(this.#files) !== this.#stamp) this.#read(this.#path);
    return this.#result;
  }

  #read(path: string): void {
    let files = this.#files.length > 0 ? this.#files : [path];
    let stamp = stampOf(files);
    let reading = readWebConfig(path);
    if (!sameFiles(files, reading.files)) {
      // The stamp is taken before reading, so that a change in between is seen the next time; a file that turns out to
      // name other files is read once more, now that they are known.
      files = reading.files;
      stamp = stampOf(files);
      reading = readWebConfig(path);
    }
    this.#files = reading.files;
    this.#stamp = stamp;
    const { result, onPurpose } = reading;
    if ('faults' in result) {
      this.#result = result;
      if (this.#valid === undefined) return;
      const faults = result.faults.map(formatFault).join('; ');
      this.#warn(`The web configuration became invalid, requests are refused until it is corrected: ${faults}`);
      return;
    }
    const lost = this.#valid === undefined ? [] : lostProtection(this.#valid, result.config, onPurpose);
    if (this.#valid !== undefined && lost.length > 0) {
      this.#result = { config: this.#valid };
      this.#warn(`The web configuration is not used, the one before stays: ${path}: ${lost.join('; ')}`);
      return;
    }
    if (this.#valid !== undefined && this.#valid.tls === undefined && result.config.tls !== undefined) {
      this.#warn('tls_server_config was added to the web configuration: restart to put it into force.');
    }
    this.#valid = result.config;
    this.#result = result;
  }
}

function sameFiles(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((file, index) => file === b[index]);
}

function stampOf(files: readonly string[]): string {
  return files.map(stampOfFile).join(' ');
}

function stampOfFile(file: string): string {
  try {
    const { ino, size, mtimeNs, ctimeNs } = statSync(file, { bigint: true });
    return [ino, size, mtimeNs, ctimeNs].join(':');
  } catch {
    return 'not there';
  }
}
