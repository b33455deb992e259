import process from 'node:process';
import type { Command, Option } from 'commander';
import { NAME } from '../cli/version.ts';

export function printCompletion(shell: 'bash' | 'zsh' | 'fish', _: object, { parent }: Command): void {
  const commands = parent?.commands ?? [];
  process.stdout.write(shell === 'fish' ? renderFish(commands) : renderBash(commands, shell));
}

/** The words that a command takes as argument, such as the shells of `completion`. */
const wordsOf = ({ registeredArguments }: Command): readonly string[] => registeredArguments[0]?.argChoices ?? [];
const isFile = ({ flags }: Option): boolean => flags.includes('file');
const namesOf = (commands: readonly Command[]): readonly string[] => commands.map((command) => command.name());
const FUNCTION = `_${NAME.replaceAll('-', '_')}`;

/**
 * Renders the script for bash 3.2 and later, which zsh can run. Bash splits a word at "=", so the value of a flag is
 * another word.
 */
function renderBash(commands: readonly Command[], shell: 'bash' | 'zsh'): string {
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
  return `# Completion for ${shell}: source <(${NAME} completion ${shell})
${shell === 'zsh' ? 'autoload -U +X bashcompinit && bashcompinit\n' : ''}${FUNCTION}() {
  local current=\${COMP_WORDS[COMP_CWORD]} flag=\${COMP_WORDS[COMP_CWORD-1]} start= replies= files=
  local command= word
  for word in "\${COMP_WORDS[@]:1:$((COMP_CWORD-1))}"; do
    case $word in ${namesOf(commands).join('|')}) command=$word; break ;; esac
  done
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
    compopt -o filenames 2>/dev/null
    COMPREPLY=("$current"*)
    [[ -e \${COMPREPLY[0]} ]] || COMPREPLY=()
  else
    COMPREPLY=($(compgen -W "$replies" -- "$current"))
  fi
  COMPREPLY=("\${COMPREPLY[@]/#/$start}")
}
complete -F ${FUNCTION} ${NAME}
`;
}

function renderFish(commands: readonly Command[]): string {
  const seen = '__fish_seen_subcommand_from';
  const others = namesOf(commands).filter((name) => name !== 'serve');
  const lines = commands.flatMap((command) => {
    const name = command.name();
    const when = name === 'serve' ? `not ${seen} ${others.join(' ')}` : `${seen} ${name}`;
    return [
      `-n __fish_use_subcommand -a ${name} -d ${quote(command.description())}`,
      ...(wordsOf(command).length === 0 ? [] : [`-n ${quote(when)} -a ${quote(wordsOf(command).join(' '))}`]),
      ...command.options.map((option) => {
        const { long = '', required, argChoices = [] } = option;
        const value = isFile(option) ? ' -rF' : required ? ` -x -a ${quote(argChoices.join(' '))}` : '';
        return `-n ${quote(when)} -l ${long.slice(2)}${value} -d ${quote(option.description)}`;
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

function quote(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
