import process from 'node:process';
import { setImmediate } from 'node:timers/promises';
import { Command, Help, CommanderError } from 'commander';
import { addServeFlags, renderExamples, type CommonOptions } from './flags.ts';
import { HOME, NAME, REVISION, VERSION } from './version.ts';
import { suggest } from '../text/wording.ts';
import { errorText } from '../log/logger.ts';
import { Secrets } from '../log/secrets.ts';
import { releaseSignals } from './signals.ts';
import { ExitStatus, onOutputLost, OutputError, printError, UsageError, colourLines } from './process.ts';

const DEFAULT = 'serve';

/** The commands that run until a signal stops them. They release held signals themselves, and end the process. */
const SERVICES: ReadonlySet<string> = new Set([DEFAULT, 'demo', 'simulate']);

const ENVIRONMENT = `
Without a configuration file it reads one account, from the environment:
  NEW_RELIC_API_KEY     its key; or NEW_RELIC_API_KEY_FILE, a file that holds it
  NEW_RELIC_REGION      us (the default), eu, gov or jp
  NEW_RELIC_API         nerdgraph (the default) or rest
  NEW_RELIC_ACCOUNT_ID  the account to read with nerdgraph, where the key sees several`;

/** Returns true if these arguments start the daemon, which needs no tools. Help and mistakes need all tools. */
export function startsDaemon(args: readonly string[]): boolean {
  const flags = new Map(addServeFlags(new Command()).options.map(({ long, required }) => [long ?? '', required]));
  const rest = args[0] === DEFAULT ? args.slice(1) : args;
  return rest.every((arg, index) => {
    const name = arg.split('=', 1)[0] ?? arg;
    return (flags.has(name) && name !== '--config.check') || flags.get(rest[index - 1] ?? '') === true;
  });
}

/**
 * Rewrites the arguments for commander. Moves the name of the command before its flags, because users also write
 * `--log.level=debug check`. Removes the value of an unknown flag: commander suggests flags only for a name without a
 * value. The value may also be a key, which no message should repeat.
 */
export function normalizeArguments(args: readonly string[], commands: readonly Command[]): readonly string[] {
  const withValue = new Set(
    commands.flatMap(({ options }) => options.filter(({ required }) => required).map(({ long }) => long)),
  );
  const isValue = (index: number): boolean => withValue.has(args[index - 1]);
  const end = args.includes('--') ? args.indexOf('--') : args.length;
  const word = args.slice(0, end).findIndex((arg, index) => !arg.startsWith('-') && !isValue(index));
  const command = commands.find((one) => one.name() === args[word]);

  // The program's help shows the flags of the default command, so they are known.
  const flags = commands.filter((one) => one === command || one.name() === DEFAULT).flatMap(({ options }) => options);
  const known = new Set(flags.map(({ long }) => long));
  const named = args.map((arg, index) => {
    const name = /^(--[^=]+)=/.exec(arg)?.[1];
    return name === undefined || index > end || known.has(name) || isValue(index) ? arg : name;
  });
  return command === undefined ? named : [command.name(), ...named.toSpliced(word, 1)];
}

/** Hints for flags that have other names in other programs, by commander's error. */
const HINTS: readonly (readonly [error: RegExp, hint: string])[] = [
  [
    /too many arguments for |unknown option '(?:--config'|-c)|there is no command '.*\.ya?ml'/,
    'Name the configuration with --config.file=<path>.',
  ],
  [
    /unknown option '(?:--(?:web\.|http-|http\.)?(?:port|host|bind|listen|addr|address)'|-p)/,
    'Set the address to listen on with --web.listen-address=<host:port>.',
  ],
  [
    /unknown option '--(?:new-?relic-)?(?:api-?key|key|token|license-key|insights-key)'/,
    'No flag takes a key: set NEW_RELIC_API_KEY, or name a file with api_key_file.',
  ],
  [/unknown option '(?:-v|-V|--debug|--verbose)'/, 'Set the log level with --log.level=debug.'],
];

function withHint(error: string): string {
  const hint = HINTS.find(([pattern]) => pattern.test(error))?.[1];
  return hint === undefined ? error : error.replace(/^(error: .*?)\.?$/m, `$1. ${hint}`);
}

/** The command `serve`. Its flag --config.check runs `check`, one of the tools, instead. */
function serveCommand(tools: readonly Command[]): Command {
  const command = new Command(DEFAULT).description('run the exporter (the default)');
  const examples = ['--config.file=config.yaml', '--web.listen-address=127.0.0.1:9126 --log.format=json'];
  return addServeFlags(command)
    .addHelpText('after', `${ENVIRONMENT}\n${renderExamples(DEFAULT, ...examples)}`)
    .action(async (options: Record<string, unknown> & CommonOptions) => {
      const [unknown] = command.args;
      if (unknown !== undefined) {
        const names = tools.map((other) => other.name());
        command.error(`error: there is no command '${unknown}'${suggest(unknown, [DEFAULT, ...names])}`);
      }
      const check = options['config.check'] === true ? tools.find((other) => other.name() === 'check') : undefined;
      if (check !== undefined) {
        const shared = check.options.flatMap((option) => {
          const value = options[option.attributeName()];
          return typeof value === 'string' ? [`${option.long ?? ''}=${value}`] : [];
        });
        await check.parseAsync(shared, { from: 'user' });
        return;
      }
      await (await import('./serve.ts')).serve(options);
    });
}

/** The program with its commands. Without tools if {@link startsDaemon} is true, so that the daemon loads less. */
export function buildProgram(tools: readonly Command[]): Command {
  const program = new Command(NAME)
    .description('Prometheus exporter for New Relic APM')
    .usage('[command] [options]')
    .helpOption('-h, --help')
    .addHelpText('after', `\nWithout a command it serves.\n${ENVIRONMENT}\n\nDocumentation: ${HOME}#readme`)
    .exitOverride()
    // A refused argument may be a key in the wrong place.
    .configureOutput({
      outputError: (text, write) => write(colourLines(new Secrets().mask(withHint(text)), process.stderr)),
    })
    .showHelpAfterError('(add --help for commands and flags)');
  const flagsOfServe = addServeFlags(new Command().optionsGroup('Options of serve, the default command:')).options;
  const help = new Help();
  program.configureHelp({
    visibleOptions: (command) => [...help.visibleOptions(command), ...(command === program ? flagsOfServe : [])],
    // Hides the default of switches.
    optionDescription: (option) => help.optionDescription(option).replace(/ \(default: false\)$/, ''),
  });
  const serve = serveCommand(tools);
  const commands = [serve, ...tools];
  for (const command of commands) {
    program.addCommand(command.copyInheritedSettings(program), { isDefault: command === serve });
  }
  // A stray word becomes an argument of the default command, which prints the better message.
  serve.allowExcessArguments();
  const version = `${NAME} ${VERSION} (revision ${REVISION}, Node.js ${process.version})`;
  for (const command of [program, ...commands]) command.optionsGroup('Options:').version(version, '--version');
  return program;
}

const USAGE = 2;
const FAILED = 1;

/** Runs the program. Returns the exit status of the command; undefined for a service, which ends the process itself. */
export async function runProgram(program: Command, args: readonly string[]): Promise<number | undefined> {
  let lost: OutputError | undefined;
  onOutputLost((error) => {
    lost = error;
    // No message when the reader closed the pipe, as `head` does.
    if (error.status !== 0) printError(error.message);
  });
  // Without a listener, Node ends the process with a stack when a later write fails too.
  process.stdout.on('error', () => undefined);
  process.stderr.on('error', () => undefined);
  const status = await runCommand(program, normalizeArguments(args, program.commands));
  // Waits until the system has the whole output.
  await new Promise<void>((done) => process.stdout.write('', () => done()));
  return lost?.status ?? status;
}

async function runCommand(program: Command, args: readonly string[]): Promise<number | undefined> {
  const running = { debugging: false, isService: false };
  program.hook('preAction', async (_, command) => {
    running.debugging = command.opts()['log.level'] === 'debug';
    running.isService = SERVICES.has(command.name());
    if (running.isService) return;
    // Lets the event loop deliver pending signals. The first turn may already be past them, so this waits for two.
    await setImmediate();
    await setImmediate();
    releaseSignals();
  });
  try {
    await program.parseAsync(args, { from: 'user' });
    return running.isService ? undefined : 0;
  } catch (error) {
    if (error instanceof ExitStatus || error instanceof OutputError) return error.status;
    if (error instanceof UsageError) {
      printError(error.message);
      return USAGE;
    }
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : USAGE;
    printError(errorText(error, running.debugging));
    return FAILED;
  }
}
