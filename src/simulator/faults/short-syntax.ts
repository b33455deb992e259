import type { FaultRuleInput } from './rule.ts';
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

export const FAULT_SYNTAX = `EFFECT[=VALUE][,on=KIND][,app=ID][,path=GLOB][,times=N][,skip=N][,PARAMETER=VALUE]

  effects: ${EFFECTS.join(', ')}
  examples: status=503,on=metric_data,times=3
            rate-limit=retry-after,seconds=20
            delay=1500,on=applications
            hang,app=1000002`;

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
