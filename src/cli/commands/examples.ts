import { NAME } from '../process/version.ts';

/** The examples under the help of a command; each is the flags that follow its name. */
export function examples(command: string, ...flags: readonly string[]): string {
  return ['', 'Examples:', ...flags.map((flag) => `  ${NAME} ${command} ${flag}`.trimEnd())].join('\n');
}
