import { expect, test } from 'vitest';
import { BY_APP, BY_RECOVERY, FIRST_STEP, heldModel } from '../held-model.ts';
import { findViolation } from '../linearize.ts';
import type { Input, Operation, Outcome } from '../operation.ts';

type Made = readonly [rpc: string, outcome: Outcome, input?: Input, at?: number | undefined];

/** Calls one after the other, unless they are given times. */
function findIn(...made: readonly Made[]) {
  return findViolation(
    heldModel,
    made.map(([rpc, outcome, input = {}, at], index): Operation => {
      const calledAt = at ?? index * 10;
      const returnedAt = outcome === 'unknown' ? Number.POSITIVE_INFINITY : calledAt + 5;
      return { id: `${index}`, rpc, subject: 'held u', replica: 0, input, calledAt, returnedAt, outcome };
    }),
  );
}

const DONE: Outcome = { answer: {} };
const IN: Outcome = { answer: { active: true } };
const OUT: Outcome = { answer: {} };
const first = (held: string, outcome: Outcome = DONE): Made => [FIRST_STEP, outcome, { held }];
const app = (held: string, code: number, outcome: Outcome, at?: number): Made => [BY_APP, outcome, { held, code }, at];
const recovery = (held: string, code: number, outcome: Outcome, at?: number): Made => [
  BY_RECOVERY,
  outcome,
  { held, code },
  at,
];
const admin = (method: string, outcome: Outcome = DONE, at?: number): Made => [
  `AdminService/${method}`,
  outcome,
  {},
  at,
];
const REVOKED: Made = ['SessionService/RevokeUserSessions', DONE];
const ENDS: readonly (readonly [string, readonly Made[]])[] = [
  ['a revocation', [REVOKED]],
  ['the end of all sign-ins', [admin('EndUserSessions')]],
  ['a change of the address', [admin('UpdateUser')]],
  ['a deactivation', [admin('DeactivateUser'), admin('ReactivateUser')]],
  ['a removal of the app', [admin('ResetSecondFactor')]],
  ['an erasure', [admin('EraseUser')]],
];

test.each<[string, readonly Made[]]>([
  ['a second step', [first('h'), app('h', 5, IN)]],
  ['its answer again', [first('h'), app('h', 5, IN), app('h', 5, IN)]],
  ['a wrong code before the right one', [first('h'), app('h', 0, OUT), app('h', 5, IN)]],
  ['a later code', [first('h'), first('g'), app('h', 5, IN), app('g', 6, IN)]],
  ['two recovery codes', [first('h'), first('g'), recovery('h', 1, IN), recovery('g', 2, IN)]],
  [
    'a sign-in that waits for its second step',
    [first('h'), admin('GetSecondFactor', { answer: { secondFactor: {} } })],
  ],
  ['a first step alone without an app', [admin('ResetSecondFactor'), first('h', IN)]],
  ['a step without an answer that was taken', [first('h'), first('g'), app('h', 5, 'unknown'), app('g', 5, OUT)]],
  ['one that was not', [first('h'), first('g'), app('h', 5, 'unknown'), app('g', 5, IN)]],
  ['an end at once', [first('h'), admin('EndUserSessions', DONE, 20), app('h', 5, IN, 21)]],
  [
    'a code that was used up for an ended one',
    [first('h'), REVOKED, recovery('h', 1, OUT), first('g'), recovery('g', 1, OUT)],
  ],
  ['an earlier code after such a one', [first('h'), REVOKED, app('h', 6, OUT), first('g'), app('g', 5, OUT)]],
  ['an end of an erased user', [admin('EraseUser'), admin('EndUserSessions', { refusal: 'User not found' })]],
  ...ENDS.map(([what, end]): [string, readonly Made[]] => [
    `a refusal after ${what}`,
    [first('h'), ...end, app('h', 5, OUT)],
  ]),
])('takes %s', (_, made) => {
  expect(findIn(...made)).toBeUndefined();
});

test.each<[string, readonly Made[]]>([
  ['a step of a sign-in that nobody has held', [app('h', 5, IN)]],
  ['the same code in two logins', [first('h'), first('g'), app('h', 5, IN), app('g', 5, IN)]],
  ['an earlier code', [first('h'), first('g'), app('h', 5, IN), app('g', 4, IN)]],
  ['the same recovery code in two logins', [first('h'), first('g'), recovery('h', 1, IN), recovery('g', 1, IN)]],
  ['a right code that is refused', [first('h'), app('h', 5, OUT)]],
  ['a right recovery code that is refused', [first('h'), recovery('h', 1, OUT)]],
  ['a first step that is enough', [first('h', IN)]],
  ['a second step without an app', [admin('ResetSecondFactor'), first('h')]],
  ['an app that is gone by itself', [admin('GetSecondFactor', DONE)]],
  ['an app that comes back', [admin('ResetSecondFactor'), admin('GetSecondFactor', { answer: { secondFactor: {} } })]],
  ['a refusal of a user who is there', [admin('EndUserSessions', { refusal: 'User not found' })]],
  ['a first step of an erased user', [admin('EraseUser'), first('h', IN)]],
  ['a first step of a deactivated user', [admin('DeactivateUser'), first('h')]],
  ...ENDS.flatMap(([what, end]): [string, readonly Made[]][] => [
    [`a code after ${what}`, [first('h'), ...end, app('h', 5, IN)]],
    [`a recovery code after ${what}`, [first('h'), ...end, recovery('h', 1, IN)]],
  ]),
])('notices %s', (_, made) => {
  expect(findIn(...made)).toBeDefined();
});
