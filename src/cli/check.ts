import { formatFault } from '../config/fault.ts';
import type { Fault } from '../config/fault.ts';
import { DEFAULT_CONFIG_FILE, findConfig, readFrom } from '../config/find.ts';
import type { FindOptions } from '../config/find.ts';

/** One file, or the environment, that is checked: what is wrong with it, and how to speak of it. */
export interface FaultSource {
  readonly name: string;
  readonly read: () => Promise<Findings>;
}

/** What is wrong with a source, and what is allowed there but is likely a mistake. */
export interface Findings {
  readonly faults: readonly Fault[];
  readonly warnings: readonly Fault[];
}

export interface CheckOutput {
  readonly stdout: Pick<NodeJS.WritableStream, 'write'>;
  readonly stderr: Pick<NodeJS.WritableStream, 'write'>;
}

/** The configuration as something to check, wherever it is found. */
export function configurationSource(options: FindOptions): FaultSource {
  const found = findConfig(options);
  if ('faults' in found) {
    return { name: DEFAULT_CONFIG_FILE, read: () => Promise.resolve({ faults: found.faults, warnings: [] }) };
  }
  const { origin } = found;
  const read = async (): Promise<Findings> => {
    const result = await readFrom(origin, options.env);
    return 'faults' in result ? { faults: result.faults, warnings: [] } : { faults: [], warnings: result.warnings };
  };
  return { name: origin.kind === 'file' ? origin.path : 'environment', read };
}

/**
 * The command `check` without calls upstream, and the flag `--config.check`: every fault of every source on standard
 * error as `file:line:column: path: message`, warnings in the same way, and one sentence per valid source on standard
 * output. Gives the exit status: warnings leave it 0.
 */
export async function check(sources: readonly FaultSource[], output: CheckOutput): Promise<0 | 2> {
  let status: 0 | 2 = 0;
  for (const { name, read } of sources) {
    const { faults, warnings } = await read();
    for (const warning of warnings) {
      output.stderr.write(`${formatFault({ ...warning, message: `warning: ${warning.message}` })}\n`);
    }
    if (faults.length === 0) {
      output.stdout.write(`${name}: valid\n`);
      continue;
    }
    status = 2;
    for (const fault of faults) output.stderr.write(`${formatFault(fault)}\n`);
  }
  return status;
}
