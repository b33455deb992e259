import process from 'node:process';
import { basename, delimiter, dirname, relative, sep } from 'node:path';
import { NAME } from './version.ts';

/** How a process was started, as Node.js has it. */
export type Start = Pick<NodeJS.Process, 'argv' | 'argv0' | 'execArgv' | 'env' | 'pid' | 'ppid'> & {
  /** Working directory. */
  readonly folder: string;
};

/** Where the image has the program. */
const IN_IMAGE = '/app/dist/main.js';

/**
 * Returns a command line as the user types it, such as `node dist/main.js check --live`: a clone has no command
 * `newrelic-apm-exporter`. `rest` is already written for a shell; `start` is that of this process.
 */
export function typedLine(command: string, rest = '', start: Start = thisProcess()): string {
  const { npm_lifecycle_event: script, npm_package_name: name } = start.env;
  if (command === 'demo' && script === 'demo' && name === NAME) {
    return rest === '' ? 'npm run demo' : `npm run demo -- ${rest}`;
  }
  return `${typedProgram(start)} ${command} ${rest}`.trimEnd();
}

function thisProcess(): Start {
  const { argv, argv0, execArgv, env, pid, ppid } = process;
  return { argv, argv0, execArgv, env, pid, ppid, folder: process.cwd() };
}

/** The part of a command line before the name of the command. */
function typedProgram({ argv: [, script = ''], argv0, execArgv, env, pid, ppid, folder }: Start): string {
  // A container's first process is the program, or the init process that started it.
  if (script === IN_IMAGE && (pid === 1 || ppid === 1)) return `docker run ... ${NAME}`;
  const inFolder = relative(folder, script);
  const path = inFolder.startsWith('..') ? script : inFolder;
  if (basename(script) === NAME) {
    if (env['PATH']?.split(delimiter).includes(dirname(script)) === true && env['npm_command'] === undefined)
      return NAME;
    if (dirname(script).endsWith(`${sep}node_modules${sep}.bin`)) return `npx ${NAME}`;
    return quote(path === NAME ? `.${sep}${NAME}` : path);
  }
  // Another program may have loaded this one.
  if (!/^main\.[jt]s$/.test(basename(script))) return NAME;
  return [argv0, ...execArgv, path].map(quote).join(' ');
}

/** Quotes a word for a shell where it needs quotes. */
function quote(word: string): string {
  return /^[\w./:=@%+,\\-]+$/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`;
}
