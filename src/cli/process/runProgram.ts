import process from 'node:process';
import { CommanderError, type Command } from 'commander';
import { errorText, isMistake } from '../../log/errorText.ts';
import { normalizeArguments } from '../flags/normalizeArguments.ts';
import { ExitStatus } from './exitStatus.ts';
import { flushOutput, onOutputLost, OutputError } from './output.ts';

/** Wrong usage, such as a flag that does not exist. */
const USAGE = 2;

/** What nobody foresaw, such as a proxy setting that is no address. */
const FAILED = 1;

/** Runs the program with the arguments after the script's name; gives the exit status of a command that has ended. */
export async function runProgram(program: Command, args: readonly string[]): Promise<number> {
  let lost: OutputError | undefined;
  onOutputLost((error) => {
    lost = error;
    // A reader that has closed the pipe, as `head` does, wants no more: there is nothing to say.
    if (error.status !== 0) process.stderr.write(`${error.message}\n`);
  });
  // Without a listener, Node ends the process with a stack when a later write fails too.
  process.stdout.on('error', () => undefined);
  process.stderr.on('error', () => undefined);
  const status = await runCommand(program, normalizeArguments(args, program.commands));
  await flushOutput();
  return lost?.status ?? status;
}

async function runCommand(program: Command, args: readonly string[]): Promise<number> {
  const log = { debugging: false };
  program.hook('preAction', (_, command) => {
    log.debugging = command.opts()['log.level'] === 'debug';
  });
  try {
    await program.parseAsync(args, { from: 'user' });
    return 0;
  } catch (error) {
    if (error instanceof ExitStatus) return error.status;
    if (error instanceof OutputError) return error.status;
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : USAGE;
    process.stderr.write(`${errorText(error, log.debugging || isMistake(error))}\n`);
    return FAILED;
  }
}
