/** One thing that is wrong in a configuration file, or in the environment variables that stand in for it. */
export interface Fault {
  readonly file: string;
  /** Both count from 1; undefined where the fault is not at a place in a file. */
  readonly line: number | undefined;
  readonly column: number | undefined;
  /** Such as `accounts[0].limits.requests_per_minute`; empty when the fault is not about one key. */
  readonly path: string;
  /** What is wrong and what to change; never the value of a secret. */
  readonly message: string;
}

/** Keys and list positions from the top of the file down. */
export type Path = readonly (string | number)[];

/** `file:line:column: path: message` (contract 1), without the parts that are not known. */
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

/** Faults in the order of the file. */
export function sortFaults(faults: readonly Fault[]): Fault[] {
  return faults.toSorted((a, b) => (a.line ?? 0) - (b.line ?? 0) || (a.column ?? 0) - (b.column ?? 0));
}
