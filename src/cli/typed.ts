import process from 'node:process';
import { basename, relative } from 'node:path';
import { NAME } from './version.ts';

const IN_IMAGE = '/app/dist/main.js';

/**
 * Returns a command line that the user can type, such as `node dist/main.js check --live`: a clone has no command
 * `newrelic-apm-exporter`. `rest` must be quoted for a shell.
 */
export function renderCommandLine(command: string, rest = '', start: Start = process): string {
  return `${renderProgram(start)} ${command} ${rest}`.trimEnd();
}

export type Start = Pick<NodeJS.Process, 'argv' | 'argv0' | 'pid' | 'ppid' | 'cwd'>;

function renderProgram(start: Start): string {
  const { argv0, pid, ppid } = start;
  const [, script = ''] = start.argv;
  // PID 1 of a container is the program, or the init process that started the program.
  if (script === IN_IMAGE && (pid === 1 || ppid === 1)) return `docker run ... ${NAME}`;
  // The script has another name if the program is installed, or if another program loads it.
  if (!/^main\.[jt]s$/.test(basename(script))) return NAME;
  const inFolder = relative(start.cwd(), script);
  return `${argv0} ${inFolder.startsWith('..') ? script : inFolder}`;
}
