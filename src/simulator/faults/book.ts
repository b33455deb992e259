import type { Route } from '../http/route.ts';
import type { FaultRule, FaultRuleInput } from './rule.ts';
import { FAULT_RULE } from './rule.ts';

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
  return new RegExp(`^${parts.join('.*')}$`);
}

function isMeant({ rule, path }: Held, route: Route | undefined, target: string): boolean {
  if (path?.test(target) === false) return false;
  if (rule.app !== undefined && route?.applicationId !== rule.app) return false;
  if (rule.on === undefined) return true;
  return route !== undefined && [rule.on].flat().includes(route.kind);
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

  /** The rule that strikes this call, counting it. `target` is the path with its query, decoded. */
  strike(route: Route | undefined, target: string): FaultRule | undefined {
    for (const held of this.#held) {
      const { skip = 0, times = Infinity } = held.rule;
      if (held.matched >= skip + times || !isMeant(held, route, target)) continue;
      held.matched += 1;
      if (held.matched > skip) return held.rule;
    }
    return undefined;
  }
}
