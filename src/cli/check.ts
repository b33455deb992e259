import { formatFault } from '../config/fault.ts';
import type { Fault } from '../config/fault.ts';
import { DEFAULT_CONFIG_FILE, findConfig, readFrom } from '../config/find.ts';
import type { FindOptions } from '../config/find.ts';

/** One file, or the environment, that is checked: what is wrong with it, and how to speak of it. */
export interface FaultSource {
  readonly name: string;
  readonly faults: () => Promise<readonly Fault[]>;
}

export interface CheckOutput {
  readonly stdout: Pick<NodeJS.WritableStream, 'write'>;
  readonly stderr: Pick<NodeJS.WritableStream, 'write'>;
}

/** The configuration as something to check, wherever it is found. */
export function configurationSource(options: FindOptions): FaultSource {
  const found = findConfig(options);
  if ('faults' in found) return { name: DEFAULT_CONFIG_FILE, faults: () => Promise.resolve(found.faults) };
  const { origin } = found;
  const faults = async (): Promise<readonly Fault[]> => {
    const result = await readFrom(origin, options.env);
    return 'faults' in result ? result.faults : [];
  };
  return { name: origin.kind === 'file' ? origin.path : 'environment', faults };
}

/**
 * The command `check` without calls upstream, and the flag `--config.check`: every fault of every source on standard
 * error as `file:line:column: path: message`, one sentence per valid source on standard output. The exit status (contract 1).
 */
export async function check(sources: readonly FaultSource[], output: CheckOutput): Promise<0 | 2> {
  let status: 0 | 2 = 0;
  for (const { name, faults } of sources) {
    const found = await faults();
    if (found.length === 0) {
      output.stdout.write(`${name}: valid\n`);
      continue;
    }
    status = 2;
    for (const fault of found) output.stderr.write(`${formatFault(fault)}\n`);
  }
  return status;
}
