import { mayBeSecret } from './hidden.ts';

/** One thing that is wrong in a configuration file, or in the environment variables that stand in for it. */
export interface Fault {
  readonly file: string;
  /** Both count from 1; undefined where the fault is not at a place in a file. */
  readonly line: number | undefined;
  readonly column: number | undefined;
  /**
   * Such as `accounts[0].limits.requests_per_minute`; empty when the fault is not about one key. A key that may be a
   * secret is `<hidden>`.
   */
  readonly path: string;
  /** What is wrong and what to change; never repeats a value of the file. */
  readonly message: string;
}

/** Keys and list positions from the top of the file down. */
export type Path = readonly (string | number)[];

/** `file:line:column: path: message`, without the parts that are not known. */
export function formatFault(fault: Fault): string {
  const place = [fault.file, fault.line, fault.column].filter((part) => part !== undefined).join(':');
  return [place, fault.path, fault.message].filter((part) => part !== '').join(': ');
}

/** A path in the style `accounts[0].limits.requests_per_minute`; different paths give different texts. */
export function formatPath(path: Path): string {
  return path.reduce<string>((text, step) => {
    if (typeof step === 'number') return `${text}[${String(step)}]`;
    if (!/^[A-Za-z_][A-Za-z0-9_-]*$/.test(step)) return `${text}[${JSON.stringify(step)}]`;
    return text === '' ? step : `${text}.${step}`;
  }, '');
}

/** The path as a fault shows it: keys that may be secrets are hidden. */
export function showPath(path: Path): string {
  return path
    .map((step) => (typeof step === 'string' && mayBeSecret(step) ? '.<hidden>' : formatPath([step])))
    .reduce((text, step) => `${text}${text === '' || /^[.[]/.test(step) ? '' : '.'}${step}`, '')
    .replace(/^\./, '');
}

/** Faults in the order of the file. */
export function sortFaults(faults: readonly Fault[]): Fault[] {
  return faults.toSorted((a, b) => (a.line ?? 0) - (b.line ?? 0) || (a.column ?? 0) - (b.column ?? 0));
}
