import * as z from 'zod';
import { ACCOUNTS } from './documents.ts';
import type { Transport } from './transport.ts';
import { CallFailure } from '../http/callFailure.ts';
import { UpstreamError } from '../errors.ts';
import type { CallOptions } from '../reader.ts';
import { id } from '../records/fields.ts';
import { parseList } from '../records/lenient.ts';

const MOST_SHOWN = 20;

const outline = z.object({ id, name: z.string().nullish() });

export interface AccountOutline {
  readonly id: number;
  readonly name?: string | null | undefined;
}

/** Which account is read: the one of the configuration, or the only one that the key sees, asked again of another key. */
export class Account {
  readonly #transport: Transport;
  readonly #configured: number | undefined;
  readonly #key: () => string;
  #found: { readonly id: number; readonly key: string | undefined } | undefined;
  #pending: Promise<number> | undefined;

  /** @param key the key of today, because key files change */
  constructor(transport: Transport, configured: number | undefined, key: () => string) {
    this.#transport = transport;
    this.#configured = configured;
    this.#key = key;
  }

  inherit(before: Account): void {
    this.#found = before.#found;
  }

  /** Asks for the accounts of the key once; callers that meet share the call. Rejects when there is not exactly one. */
  async id(call: CallOptions): Promise<number> {
    if (this.#configured !== undefined) return this.#configured;
    for (;;) {
      const found = this.#found;
      if (found !== undefined && found.key === (this.#currentKey() ?? found.key)) return found.id;
      if (this.#pending === undefined) return this.#find(call);
      try {
        return await this.#pending;
      } catch (error) {
        // Whoever made the shared call may have been stopped; that is no failure of ours.
        if (error instanceof UpstreamError) throw error;
        call.signal.throwIfAborted();
      }
    }
  }

  /** All accounts that the key sees, each once. */
  async list(call: CallOptions): Promise<readonly AccountOutline[]> {
    const read = {
      group: 'applications',
      document: ACCOUNTS,
      variables: {},
      root: ['actor'],
      needed: ['accounts'],
    } as const;
    const actor = await this.#transport.read(read, call);
    const accounts = this.#transport.checked('applications', (leftOut) =>
      parseList(outline, actor, 'accounts', leftOut),
    );
    return [...new Map(accounts.map((each) => [each.id, each])).values()];
  }

  async #find(call: CallOptions): Promise<number> {
    const key = this.#currentKey();
    this.#pending = this.list(call).then((accounts) => {
      const id = this.#only(accounts);
      this.#found = { id, key };
      return id;
    });
    try {
      return await this.#pending;
    } finally {
      this.#pending = undefined;
    }
  }

  /** Undefined while it cannot be read: then calls fail by themselves. */
  #currentKey(): string | undefined {
    try {
      return this.#key();
    } catch {
      return undefined;
    }
  }

  #only(accounts: readonly AccountOutline[]): number {
    const [first, second] = accounts;
    if (first !== undefined && second === undefined) {
      return first.id;
    }
    const words =
      first === undefined
        ? 'the key sees no account'
        : `the key sees ${accounts.length} accounts, set account_id to one of them: ${namesOf(accounts)}`;
    throw this.#transport.fail('applications', new CallFailure('other', words));
  }
}

/** Ids with names, for a message: names come from outside, and there may be thousands. */
export function namesOf(accounts: readonly AccountOutline[]): string {
  const shown = accounts.slice(0, MOST_SHOWN).map(({ id: number, name }) => {
    const plain = (name ?? '').replace(/\p{C}/gu, ' ').slice(0, 60).trim();
    return plain === '' ? String(number) : `${number} (${plain})`;
  });
  return shown.join(', ') + (accounts.length > MOST_SHOWN ? ` and ${accounts.length - MOST_SHOWN} more` : '');
}
