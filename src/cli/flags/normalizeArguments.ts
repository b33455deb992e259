import type { Command } from 'commander';

/** The command that runs when none is named. */
const DEFAULT = 'serve';

/**
 * The arguments as commander understands them best. The name of the command comes before its flags, because users write
 * `--log.level=debug check` too. A flag that neither the command nor the default one has loses its value: commander
 * compares its name alone when it looks for the flag that was meant, and no message repeats a value that may be a key.
 */
export function normalizeArguments(args: readonly string[], commands: readonly Command[]): readonly string[] {
  const withValue = new Set(
    commands.flatMap(({ options }) => options.filter(({ required }) => required).map(({ long }) => long)),
  );
  const isValue = (index: number): boolean => withValue.has(args[index - 1]);
  const end = args.includes('--') ? args.indexOf('--') : args.length;
  const word = args.slice(0, end).findIndex((arg, index) => !arg.startsWith('-') && !isValue(index));
  const command = commands.find((one) => one.name() === args[word]);

  // Commander would say of a flag of the default command, which the root's help shows, that this very flag was meant.
  const flags = commands.filter((one) => one === command || one.name() === DEFAULT).flatMap(({ options }) => options);
  const known = new Set(flags.map(({ long }) => long));
  const named = args.map((arg, index) => {
    const name = /^(--[^=]+)=/.exec(arg)?.[1];
    return name === undefined || index > end || known.has(name) || isValue(index) ? arg : name;
  });
  return command === undefined ? named : [command.name(), ...named.toSpliced(word, 1)];
}
