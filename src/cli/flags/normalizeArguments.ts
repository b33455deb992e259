import type { Command } from 'commander';

/**
 * The arguments as commander understands them best. The name of the command comes before its flags, because users write
 * `--log.level=debug check` too. A flag that no command has loses its value, so that commander compares its name alone
 * when it looks for the flag that was meant.
 */
export function normalizeArguments(args: readonly string[], commands: readonly Command[]): readonly string[] {
  const options = commands.flatMap((command) => command.options);
  const known = new Set(options.map(({ long }) => long));
  const withValue = new Set(options.filter(({ required }) => required).map(({ long }) => long));
  const isValue = (index: number): boolean => withValue.has(args[index - 1]);

  const end = args.includes('--') ? args.indexOf('--') : args.length;
  const named = args.slice(0, end).map((arg, index) => {
    const name = /^(--[^=]+)=/.exec(arg)?.[1];
    return name === undefined || known.has(name) || isValue(index) ? arg : name;
  });
  const word = named.findIndex((arg, index) => !arg.startsWith('-') && !isValue(index));
  const command = commands.find((one) => one.name() === named[word]);
  const flagsFirst = [...named, ...args.slice(end)];
  return command === undefined ? flagsFirst : [command.name(), ...flagsFirst.toSpliced(word, 1)];
}
