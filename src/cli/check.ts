import { formatFault, type Fault } from '../config/fault.ts';
import type { Findings } from './configuration.ts';

export interface CheckOutput {
  readonly stdout: Pick<NodeJS.WritableStream, 'write'>;
  readonly stderr: Pick<NodeJS.WritableStream, 'write'>;
}

/**
 * The command `check` without calls upstream, and the flag `--config.check`: every fault and every warning on standard
 * error as `file:line:column: path: message`, one sentence per valid file on standard output. Gives the exit status:
 * 2 when there is a fault; warnings do not change it.
 */
export function check(findings: readonly Findings[], output: CheckOutput): 0 | 2 {
  for (const { name, faults, warnings } of findings) {
    if (faults.length === 0) output.stdout.write(`${name}: valid\n`);
    for (const fault of [...faults, ...warnings.map(asWarning)]) output.stderr.write(`${formatFault(fault)}\n`);
  }
  return findings.some(({ faults }) => faults.length > 0) ? 2 : 0;
}

function asWarning(fault: Fault): Fault {
  return { ...fault, message: `warning: ${fault.message}` };
}
