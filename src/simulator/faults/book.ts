import type { CallKind } from '../callKinds.ts';
import type { FaultRule, FaultRuleInput } from './rule.ts';
import { FAULT_RULE, isForGraphql } from './rule.ts';

/** A call as the rules see it. */
export interface FaultTarget {
  /** What it asks for: one kind on the REST interface, any number in a GraphQL document. */
  readonly kinds: readonly CallKind[];
  readonly applicationIds: readonly number[];
  /** The decoded path with its query; for GraphQL `/graphql`, a space, and the texts of its queries. */
  readonly text: string;
  readonly isGraphql: boolean;
}

/** A rule in force. */
export interface FaultEntry {
  readonly id: number;
  readonly rule: FaultRule;
  /** How many calls matched it so far, those it let pass among them. */
  readonly matched: number;
}

interface Held {
  readonly id: number;
  readonly rule: FaultRule;
  readonly path: RegExp | undefined;
  matched: number;
}

function globToRegExp(glob: string): RegExp {
  const parts = glob.split('*').map((part) => part.replace(/[\\^$.*+?()[\]{}|]/g, String.raw`\$&`));
  return new RegExp(`^${parts.join('.*')}$`, 's');
}

/** Whether a rule is for calls, or parts of a call, of one of these kinds that are about these applications. */
export function isMeant(rule: FaultRule, kinds: readonly CallKind[], applicationIds: readonly number[]): boolean {
  if (rule.app !== undefined && !applicationIds.includes(rule.app)) return false;
  return rule.on === undefined || [rule.on].flat().some((kind) => kinds.includes(kind));
}

function strikes({ rule, path }: Held, { kinds, applicationIds, text, isGraphql }: FaultTarget): boolean {
  if (path?.test(text) === false || (isForGraphql(rule) && !isGraphql)) return false;
  return isMeant(rule, kinds, applicationIds);
}

/** The fault rules in force. The first rule that matches a call decides what happens to it. */
export class FaultBook {
  #held: Held[] = [];
  #nextId = 1;

  /** Adds a rule behind those there are and gives its id. Throws a ZodError on a bad one. */
  add(input: FaultRuleInput): number {
    const rule = FAULT_RULE.parse(input);
    const id = this.#nextId;
    this.#nextId += 1;
    this.#held.push({ id, rule, path: rule.path === undefined ? undefined : globToRegExp(rule.path), matched: 0 });
    return id;
  }

  /** Takes one rule away; false when there is none of this id. */
  remove(id: number): boolean {
    const before = this.#held.length;
    this.#held = this.#held.filter((held) => held.id !== id);
    return this.#held.length < before;
  }

  clear(): void {
    this.#held = [];
  }

  entries(): readonly FaultEntry[] {
    return this.#held.map(({ id, rule, matched }) => ({ id, rule, matched }));
  }

  /** The rule that strikes this call, counting it. */
  strike(target: FaultTarget): FaultRule | undefined {
    for (const held of this.#held) {
      const { skip = 0, times = Infinity } = held.rule;
      if (held.matched >= skip + times || !strikes(held, target)) continue;
      held.matched += 1;
      if (held.matched > skip) return held.rule;
    }
    return undefined;
  }
}
