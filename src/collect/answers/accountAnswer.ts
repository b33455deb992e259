import { Turns } from '../../eventLoop/turns.ts';
import type { AccountStatus, Answer, AnswerTime, Scope } from '../view.ts';
import { AnswerDraft, type AnsweredAccount } from './answer.ts';
import { statusOf } from './status.ts';
import { Tally } from './tally.ts';
import { visit } from './visit.ts';

/** Entities that are visited before other work may go on: they take a few milliseconds. */
const ENTITIES_PER_TURN = 1000;

/** What an account serves for a scope, and its state. */
export interface AccountAnswer extends Omit<Answer, 'accounts'> {
  readonly status: AccountStatus;
}

/**
 * Answers for an account in portions between which other work goes on. Series and states of an application are of one
 * moment, so that an answer never counts as fresh what it does not hold.
 *
 * @param wallNow Unix milliseconds
 */
export async function accountAnswer(
  account: AnsweredAccount,
  scope: Scope,
  time: AnswerTime,
  wallNow: number,
): Promise<AccountAnswer> {
  const turns = new Turns(ENTITIES_PER_TURN);
  await account.timetable.makePlan(turns, true);
  const answer = new AnswerDraft(account, scope, time);
  const tally = new Tally(account, scope, time);
  for (const entities of visit(account.inventory, [answer, tally])) {
    const turn = turns.after(entities);
    if (turn !== undefined) await turn;
  }
  const { blocks, cut } = answer;
  return { blocks, cut, complete: tally.complete, status: statusOf(account, tally, time, wallNow) };
}
