/** The checker of rows notices every kind of wrong answer and of lost change, and takes every correct history. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { addressModel, CHANGE_ADDRESS } from '../address-model.ts';
import { ADD_PASSKEY, browserModel, CONTINUE, CONTINUE_SILENTLY, SIGN_IN } from '../browser-model.ts';
import { eventModel } from '../event-model.ts';
import { addEndsByReuse, grantModel, TOKEN } from '../grant-model.ts';
import { findViolation } from '../linearize.ts';
import { answerOf, type Operation, type Violation } from '../operation.ts';
import { userModel, webhookModel } from '../profile-models.ts';
import { USE_LINK } from '../recovery-model.ts';
import { EXPIRE, MAKE_DUE, sessionModel } from '../session-model.ts';
import { flipsOf } from './flips.ts';
import { CALLS, concurrent, type Kind, planNext, sequential, simulate } from './generate.ts';

const RUNS = 60;
/** Where classes are counted, every run has the same histories. */
const SEED = 25;

const JUDGES: Readonly<Record<Kind, (history: readonly Operation[]) => Violation | undefined>> = {
  event: (history) => findViolation(eventModel, history),
  user: (history) => findViolation(userModel, history),
  webhook: (history) => findViolation(webhookModel, history),
  session: (history) => findViolation(sessionModel, history),
  grant: (history) => findViolation(grantModel, addEndsByReuse(history)),
  browser: (history) => findViolation(browserModel, history),
  address: (history) => findViolation(addressModel, history),
};

/** Calls, and a step, that change nothing whose loss would show. */
const READS: readonly string[] = [MAKE_DUE, EXPIRE, CONTINUE, CONTINUE_SILENTLY];

/** How many classes of wrong answers there are: without a change here, none disappears. */
const CLASSES: Readonly<Record<Kind, number>> = {
  event: 24,
  user: 11,
  webhook: 17,
  session: 21,
  grant: 10,
  browser: 21,
  address: 6,
};

/** They show a lost change of a link. */
const RECOVERY = [['AdminService/ReactivateUser', 0] as const, [USE_LINK, 0] as const];

/** What shows, at the end, a change that was lost, with what each call chooses. */
const LAST_CALLS: Readonly<Record<Kind, readonly (readonly [string, number])[]>> = {
  event: [
    ['EventService/GetEvent', 0],
    ['EventService/ListCheckIns', 0],
  ],
  user: [['AdminService/GetUser', 0]],
  webhook: [['WebhookService/GetWebhook', 0]],
  session: [
    ['SessionService/ListSessions', 0],
    ['AuthService/ExchangeToken', 0],
    ['AdminService/CompleteLogin', 0],
    ['AuthService/ExchangeToken', 0],
    ...RECOVERY,
  ],
  grant: [['AdminService/ListUserGrants', 0], [TOKEN, 1], [TOKEN, 0], ['AdminService/CompleteLogin', 0], ...RECOVERY],
  browser: [
    ...Array.from({ length: 14 }, (_, choice) => [CONTINUE_SILENTLY, choice] as const),
    ['AdminService/ListPasskeys', 0],
    ['AdminService/ListUserIdentities', 0],
    ...[0, 1, 2].map((choice) => [ADD_PASSKEY, choice] as const),
    [SIGN_IN, 0],
    ...RECOVERY,
  ],
  address: [
    ['AdminService/GetUser', 0],
    [CHANGE_ADDRESS, 0],
    ['AdminService/GetUser', 0],
  ],
};

describe.each(Object.keys(CALLS) as Kind[])('for the row of a kind, %s, the checker', (kind) => {
  const findIn = JUDGES[kind];

  test('takes correct histories of one call after the other', () => {
    fc.assert(
      fc.property(sequential(kind), (history) => {
        expect(findIn(history)).toBeUndefined();
      }),
      { numRuns: RUNS },
    );
  });

  test('takes correct histories of calls that overlap and get no answer', () => {
    fc.assert(
      fc.property(concurrent(kind), (history) => {
        expect(findIn(history)).toBeUndefined();
      }),
      { numRuns: 3 * RUNS },
    );
  });

  test('notices each kind of wrong answer', () => {
    const classes = new Set<string>();
    fc.assert(
      fc.property(sequential(kind), (history) => {
        for (const [at, operation] of history.entries()) {
          for (const { name, outcome } of flipsOf(operation, history.slice(0, at))) {
            classes.add(name);
            const flipped = history.with(at, { ...operation, outcome });
            expect(findIn(flipped), `${name} of ${JSON.stringify(flipped.slice(0, at + 1))}`).toBeDefined();
          }
        }
      }),
      { numRuns: RUNS, seed: SEED },
    );
    expect([...classes].sort()).toHaveLength(CLASSES[kind]);
  });

  test('notices each kind of change that is acknowledged and lost', () => {
    const changes = CALLS[kind].filter((rpc) => !/\/(Get|List|CheckS)|Reactivate/.test(rpc) && !READS.includes(rpc));
    const noticed = new Set<string>();
    const calls = fc.array(fc.tuple(fc.constantFrom(...CALLS[kind]), fc.nat(99)), { minLength: 1, maxLength: 12 });
    fc.assert(
      fc.property(calls, fc.constantFrom(...changes), fc.nat(99), (before, lost, choice) => {
        const all = [...before, [lost, choice] as const, ...LAST_CALLS[kind]];
        const plans = all.map(([rpc, chosen], at) => planNext(rpc, chosen, at));
        let isEffective = false;
        const history = simulate(kind, plans, (usher, rpc, input, number) => {
          const isLost = number === before.length;
          if (isLost) isEffective = usher.wouldChange(rpc, input);
          return isLost;
        });
        if (!isEffective) return;
        expect(findIn(history), JSON.stringify(history)).toBeDefined();
        noticed.add(lost);
      }),
      { numRuns: 4 * RUNS, seed: SEED },
    );
    expect([...noticed].sort()).toEqual([...new Set(changes)].sort());
  });
});

test('two calls that cannot be told apart by time may have been in either order', () => {
  const operation = (rpc: string, calledAt: number, returnedAt: number, outcome: Operation['outcome']): Operation => ({
    ...{ id: `${rpc} ${calledAt}`, rpc: `AdminService/${rpc}`, subject: 'user 1', replica: 0 },
    ...{ input: rpc === 'UpdateUser' ? { name: 'Ada' } : {}, calledAt, returnedAt, outcome },
  });
  const named = { answer: { user: { name: 'Ada' } } };
  const nameless = { answer: { user: {} } };
  const write = operation('UpdateUser', 0, 10, named);
  const historyOf = (...reads: Operation[]) => [write, ...reads];
  expect(
    JUDGES.user(historyOf(operation('GetUser', 1, 2, nameless), operation('GetUser', 3, 4, named))),
  ).toBeUndefined();
  // Once seen, a change is there.
  expect(JUDGES.user(historyOf(operation('GetUser', 1, 2, named), operation('GetUser', 3, 4, nameless)))).toBeDefined();
  // What has been acknowledged is there.
  expect(JUDGES.user(historyOf(operation('GetUser', 11, 12, nameless)))).toBeDefined();
  expect(answerOf(write)).toEqual(named.answer);
});

test.each([
  ['before the call', 40, false],
  ['during the call', 60, true],
])('a replaced refresh token ends its grant if another was replaced %s', (_, replacedAt, mayLive) => {
  const token = (calledAt: number, returnedAt: number, rotation?: number, refusal?: string): Operation => ({
    ...{ id: `${calledAt}`, rpc: TOKEN, subject: 'grant 1', replica: 0, calledAt, returnedAt },
    input: { grantId: 'g', ...(rotation && { rotation }) },
    outcome: refusal ? { refusal } : { answer: {} },
  });
  const login = { ...token(0, 1), rpc: 'AdminService/CompleteLogin' };
  const before = [login, token(2, 3), token(4, 5, 1), token(6, 7, 2), token(replacedAt, replacedAt + 1, 3)];
  const history = [...before, token(50, 70, 1, 'invalid_grant')];
  expect(JUDGES.grant([...history, token(80, 81, 4)]) === undefined).toBe(mayLive);
  expect(JUDGES.grant([...history, token(80, 81, 4, 'invalid_grant')])).toBeUndefined();
});
