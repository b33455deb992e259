import process from 'node:process';
import type { Command, Option } from 'commander';
import { NAME } from '../cli/version.ts';

/** The command `completion`: prints the script for a shell, made from the commands of the program and their flags. */
export function printCompletion(shell: 'bash' | 'zsh' | 'fish', commands: readonly Command[]): void {
  process.stdout.write({ bash, zsh, fish }[shell](commands));
}

/** The words that can stand behind a command itself, such as the shells of `completion`. */
function wordsOf({ registeredArguments }: Command): readonly string[] {
  return registeredArguments[0]?.argChoices ?? [];
}

const isFile = ({ flags }: Option): boolean => flags.includes('file');

/** The first line of what the help says of a flag. */
function descriptionOf({ description }: Option): string {
  return description.split('\n', 1).join('');
}

const namesOf = (commands: readonly Command[]): readonly string[] => commands.map((command) => command.name());

const FUNCTION = `_${NAME.replaceAll('-', '_')}`;

/** The lines that find the command among the words before the cursor, in the syntax of bash and zsh. */
function findCommand(commands: readonly Command[], before: string): string {
  return `  local command= word
  for word in ${before}; do
    case $word in ${namesOf(commands).join('|')}) command=$word; break ;; esac
  done`;
}

/** For bash 3.2 and later. Bash itself splits a word at "=", so that the value behind it is a word of its own. */
function bash(commands: readonly Command[]): string {
  const values = new Map<string, string[]>();
  for (const command of commands) {
    for (const option of command.options.filter(({ required, optional }) => required || optional)) {
      const reply = isFile(option) ? 'files=1' : `replies='${(option.argChoices ?? []).join(' ')}'`;
      values.set(reply, [...(values.get(reply) ?? []), `${command.name()}${option.long ?? ''}`]);
    }
  }
  const flags = commands.map((command) => {
    const replies = [...wordsOf(command), ...command.options.map(({ long }) => long ?? ''), '--help'];
    return `      ${command.name()}) replies='${replies.join(' ')}' ;;`;
  });
  return `# Completion for bash: source <(${NAME} completion bash)
${FUNCTION}() {
  local current=\${COMP_WORDS[COMP_CWORD]} flag=\${COMP_WORDS[COMP_CWORD-1]} start= replies= files=
${findCommand(commands, '"${COMP_WORDS[@]:1:COMP_CWORD-1}"')}
  if [[ $current == = ]]; then
    current=
  elif [[ $flag == = ]]; then
    flag=\${COMP_WORDS[COMP_CWORD-2]}
  elif [[ $current == --*=* ]]; then
    flag=\${current%%=*} start=\${current%%=*}= current=\${current#*=}
  fi
  case \${command:-serve}$flag in
${Array.from(values, ([reply, patterns]) => `    ${patterns.join('|')}) ${reply} ;;`).join('\n')}
    *) case \${command:-serve} in
${flags.join('\n')}
    esac
    if [[ -z $command ]]; then replies="${namesOf(commands).join(' ')} $replies"; fi ;;
  esac
  local IFS=$' \\t\\n'
  if [[ -n $files ]]; then
    IFS=$'\\n'
    compopt -o filenames 2>/dev/null
    COMPREPLY=($(compgen -f -- "$current"))
  else
    COMPREPLY=($(compgen -W "$replies" -- "$current"))
  fi
  COMPREPLY=("\${COMPREPLY[@]/#/$start}")
}
complete -F ${FUNCTION} ${NAME}
`;
}

function zsh(commands: readonly Command[]): string {
  const escaped = (text: string): string => text.replace(/[[\]:\\]/g, '\\$&');
  const specOf = (option: Option): string => {
    const { long = '', required, argChoices } = option;
    const description = escaped(descriptionOf(option));
    const value = isFile(option) ? '_files' : argChoices === undefined ? ' ' : `(${argChoices.join(' ')})`;
    const rest = required ? `=[${description}]:${long.slice(2)}:${value}` : `[${description}]`;
    return quoted(`${description.includes('repeatable') ? '*' : ''}${long}${rest}`);
  };
  const listed = commands.map((command) => quoted(`${command.name()}:${escaped(command.description())}`));
  const cases = commands.map((command) => {
    const words = wordsOf(command);
    const specs = [
      ...command.options.map(specOf),
      quoted('--help[show the flags]'),
      ...(words.length === 0 ? [] : [quoted(`2:word:(${words.join(' ')})`)]),
    ];
    return `    ${command.name()}) flags=(\n${specs.map((spec) => `      ${spec}\n`).join('')}    ) ;;`;
  });
  return `#compdef ${NAME}
# Completion for zsh: source <(${NAME} completion zsh), or a file _${NAME} in a folder of $fpath
${FUNCTION}() {
${findCommand(commands, '"${(@)words[2,CURRENT-1]}"')}
  local -a flags commands=(
${listed.map((each) => `    ${each}`).join('\n')}
  )
  case \${command:-serve} in
${cases.join('\n')}
  esac
  [[ -n $command ]] || flags+=("1:command:{_describe command commands}")
  _arguments $flags '*: :'
}
if [[ $funcstack[1] == _${NAME} ]]; then ${FUNCTION} "$@"; else compdef ${FUNCTION} ${NAME}; fi
`;
}

function fish(commands: readonly Command[]): string {
  const seen = '__fish_seen_subcommand_from';
  const others = namesOf(commands).filter((name) => name !== 'serve');
  const lines = commands.flatMap((command) => {
    const name = command.name();
    const when = name === 'serve' ? `not ${seen} ${others.join(' ')}` : `${seen} ${name}`;
    return [
      `-n __fish_use_subcommand -a ${name} -d ${quoted(command.description())}`,
      ...(wordsOf(command).length === 0 ? [] : [`-n ${quoted(when)} -a ${quoted(wordsOf(command).join(' '))}`]),
      ...command.options.map((option) => {
        const { long = '', required, argChoices = [] } = option;
        const value = isFile(option) ? ' -rF' : required ? ` -x -a ${quoted(argChoices.join(' '))}` : '';
        return `-n ${quoted(when)} -l ${long.slice(2)}${value} -d ${quoted(descriptionOf(option))}`;
      }),
    ];
  });
  return [
    `# Completion for fish: ${NAME} completion fish | source`,
    `complete -c ${NAME} -f`,
    ...lines.map((line) => `complete -c ${NAME} ${line}`),
    '',
  ].join('\n');
}

/** A text as one word of the three shells. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
