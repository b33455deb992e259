import process from 'node:process';
import { basename, relative } from 'node:path';
import { NAME } from './version.ts';

/** How a process was started, as Node.js has it. */
export type Start = Pick<NodeJS.Process, 'argv' | 'argv0' | 'pid' | 'ppid'> & {
  /** Working directory. */
  readonly folder: string;
};

/** Where the image has the program. */
const IN_IMAGE = '/app/dist/main.js';

/**
 * Returns a command line as the user types it, such as `node dist/main.js check --live`: a clone has no command
 * `newrelic-apm-exporter`. `rest` is already written for a shell; `start` is that of this process.
 */
export function renderCommandLine(command: string, rest = '', start: Start = thisProcess()): string {
  return `${renderProgram(start)} ${command} ${rest}`.trimEnd();
}

function thisProcess(): Start {
  const { argv, argv0, pid, ppid } = process;
  return { argv, argv0, pid, ppid, folder: process.cwd() };
}

/** The part of a command line before the name of the command. */
function renderProgram({ argv: [, script = ''], argv0, pid, ppid, folder }: Start): string {
  // A container's first process is the program, or the init process that started it.
  if (script === IN_IMAGE && (pid === 1 || ppid === 1)) return `docker run ... ${NAME}`;
  // An installed command has the name of the program. Another program may have loaded this one.
  if (!/^main\.[jt]s$/.test(basename(script))) return NAME;
  const inFolder = relative(folder, script);
  return `${argv0} ${inFolder.startsWith('..') ? script : inFolder}`;
}
