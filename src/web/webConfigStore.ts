import { statSync } from 'node:fs';
import { formatFault } from '../config/fault.ts';
import { OPEN_WEB_CONFIG, readWebConfig, type WebConfigResult } from './webConfig.ts';

/**
 * The web configuration in force. It looks at the files' change times whenever it is asked, and reads them again when
 * one has changed, so that certificates, users and headers need no restart (conventions 1.3). Synchronous, because
 * a TLS handshake cannot wait for a new certificate.
 */
export class WebConfigStore {
  readonly #path: string | undefined;
  readonly #warn: (message: string) => void;
  #files: readonly string[] = [];
  #stamp = '';
  #result: WebConfigResult = { config: OPEN_WEB_CONFIG };

  /** `path` undefined: no web configuration; `warn` is told when a change makes the file invalid. */
  constructor(path: string | undefined, warn: (message: string) => void) {
    this.#path = path;
    this.#warn = warn;
    if (path !== undefined) this.#read(path);
  }

  /** The same object as long as nothing has changed. */
  current(): WebConfigResult {
    if (this.#path !== undefined && stampOf(this.#files) !== this.#stamp) {
      this.#read(this.#path);
      if ('faults' in this.#result) {
        const faults = this.#result.faults.map(formatFault).join('; ');
        this.#warn(`The web configuration became invalid, requests are refused until it is corrected: ${faults}`);
      }
    }
    return this.#result;
  }

  #read(path: string): void {
    let files = this.#files.length > 0 ? this.#files : [path];
    // The stamp is taken before reading, so that a change in between is seen the next time; a file that turns out to
    // name other files is read once more, now that they are known.
    for (let round = 0; round < 2; round += 1) {
      const stamp = stampOf(files);
      const read = readWebConfig(path);
      this.#result = read.result;
      this.#files = read.files;
      this.#stamp = stamp;
      if (sameFiles(files, read.files)) return;
      files = read.files;
    }
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
