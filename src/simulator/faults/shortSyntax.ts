import type { FaultRuleInput } from './rule.ts';
import { CALL_KINDS } from '../callKinds.ts';
import { describeFaults, EFFECTS, FAULT_RULE } from './rule.ts';

/** What the value after `effect=` means. */
const MAIN_PARAMETER: Readonly<Record<string, string>> = {
  status: 'status',
  'rate-limit': 'header',
  unavailable: 'seconds',
  delay: 'milliseconds',
  drip: 'milliseconds',
  numbers: 'value',
  huge: 'megabytes',
  redirect: 'location',
  'graphql-error': 'class',
  'null-alias': 'level',
  truncate: 'rows',
};

const LINE = 64;

/** The words as a list over several lines, each of at most so many characters. */
function inLines(words: readonly string[]): string {
  const lines = [''];
  for (const word of words) {
    const last = lines.at(-1) ?? '';
    if (last === '') lines[lines.length - 1] = word;
    else if (`${last}, ${word}`.length > LINE) lines.push(word);
    else lines[lines.length - 1] = `${last}, ${word}`;
  }
  return lines.join(',\n    ');
}

/** How a rule is written, for the help of the command. */
export const FAULT_SYNTAX = `EFFECT[=VALUE][,on=KIND][,app=ID][,path=GLOB]
  [,times=N][,skip=N][,PARAMETER=VALUE]

  effects:
    ${inLines(EFFECTS)}
  kinds of calls:
    ${inLines(CALL_KINDS)}
  examples:
    status=503,on=metric_data,times=3
    rate-limit=retry-after,seconds=20
    graphql-error=TIMEOUT,on=graphql_nrql,times=1
    hang,app=1000002
  docs/simulator.md says what each effect does.`;

function scalar(text: string): number | string {
  return /^\d{1,15}$/.test(text) ? Number(text) : text;
}

/** Reads the short form of a fault rule. Throws an Error that says what is wrong with it. */
export function parseFault(text: string): FaultRuleInput {
  const [head = '', ...rest] = text.split(',').map((part) => part.trim());
  const pair = (part: string): readonly [name: string, value: string | undefined] => {
    const at = part.indexOf('=');
    return at < 0 ? [part, undefined] : [part.slice(0, at), part.slice(at + 1)];
  };
  const [effect, main] = pair(head);
  if (!EFFECTS.includes(effect)) throw new Error(`unknown effect "${effect}"; one of ${EFFECTS.join(', ')}`);
  const rule: Record<string, unknown> = { effect };
  if (main !== undefined) {
    const parameter = MAIN_PARAMETER[effect];
    if (parameter === undefined) throw new Error(`the effect "${effect}" takes no value`);
    rule[parameter] = scalar(main);
  }
  for (const part of rest) {
    const [name, value] = pair(part);
    if (value === undefined) throw new Error(`"${part}" must be name=value`);
    rule[name] = scalar(value);
  }
  const parsed = FAULT_RULE.safeParse(rule);
  if (!parsed.success) throw new Error(describeFaults(parsed.error));
  return parsed.data;
}
