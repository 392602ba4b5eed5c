/** The model of recovery links knows both statements of a use, and calls that got no answer. */
import { expect, test } from 'vitest';
import { ADD_PASSKEY, browserModel, CONTINUE, SIGN_IN, SIGN_IN_BY_PASSKEY } from '../browser-model.ts';
import { findViolation } from '../linearize.ts';
import type { Answer, Input, Operation } from '../operation.ts';
import { addLateEnds, MAKE_LINK, REVOKE_LINK, USE_LINK } from '../recovery-model.ts';

const LINK = { link: 'l', removes: ['PASSKEYS'] };
const DEAD = { refusal: 'This link cannot be used' };
const LIST = 'AdminService/ListPasskeys';
const listing = (...aaguids: string[]): Answer => ({ passkeys: aaguids.map((aaguid) => ({ passkeyId: '', aaguid })) });

type Made = readonly [
  rpc: string,
  calledAt: number,
  returnedAt: number,
  answer: Answer | { readonly refusal: string } | 'unknown',
  input?: Input,
];

const signIn = (at: number): Made => [SIGN_IN, at, at + 1, { remembered: `r${at}` }, { proof: `p${at}` }];
const addPasskey = (at: number, proof: string): Made => [ADD_PASSKEY, at, at + 1, {}, { passkey: `k${at}`, proof }];
const BEFORE: readonly Made[] = [
  signIn(0),
  addPasskey(2, 'p0'),
  [MAKE_LINK, 4, 5, { recoveryLink: { recoveryLinkId: 'l' } }],
];

function findIn(...made: readonly Made[]) {
  const operations = [...BEFORE, ...made].map(([rpc, calledAt, returnedAt, given, input = {}]): Operation => {
    const outcome = given === 'unknown' || 'refusal' in given ? given : { answer: given };
    return { id: `${rpc} ${calledAt}`, rpc, subject: 'browser 1', replica: 0, input, calledAt, returnedAt, outcome };
  });
  return findViolation(browserModel, addLateEnds(operations));
}

/** The passkeys of before are seen to be gone, and a sign-in begins a new one, while the use goes on. */
const MEANWHILE = [[USE_LINK, 10, 30, {}, LINK], [LIST, 12, 13, listing()], signIn(14), addPasskey(16, 'p14')] as const;
const NEVER = Number.POSITIVE_INFINITY;

test.each<[string, readonly Made[]]>([
  ['that what begins during a use ends with it', [...MEANWHILE, [LIST, 31, 32, listing()]]],
  ['that it does not', [...MEANWHILE, [LIST, 31, 32, listing('k16')]]],
  ['a passkey that is added after the use', [[USE_LINK, 10, 11, {}, LINK], addPasskey(12, 'l')]],
  [
    'a use without an answer that took effect',
    [
      [USE_LINK, 10, 40, 'unknown', LINK],
      [LIST, 12, 13, listing()],
    ],
  ],
  [
    'one that took no effect',
    [
      [USE_LINK, 10, NEVER, 'unknown', LINK],
      [LIST, 12, 13, listing('k2')],
    ],
  ],
  [
    'a use after one that may have taken effect',
    [
      [USE_LINK, 10, NEVER, 'unknown', LINK],
      [USE_LINK, 12, 13, {}, LINK],
    ],
  ],
  [
    'no use after it',
    [
      [USE_LINK, 10, NEVER, 'unknown', LINK],
      [USE_LINK, 12, 13, DEAD, LINK],
    ],
  ],
  [
    'one of two uses at once',
    [
      [USE_LINK, 10, 20, DEAD, LINK],
      [USE_LINK, 11, 21, {}, LINK],
    ],
  ],
])('takes %s', (_, made) => {
  expect(findIn(...made)).toBeUndefined();
});

test.each<[string, readonly Made[]]>([
  [
    'two uses at once',
    [
      [USE_LINK, 10, 20, {}, LINK],
      [USE_LINK, 11, 21, {}, LINK],
    ],
  ],
  [
    'a second use without an answer that the log tells of',
    [
      [USE_LINK, 10, 11, {}, LINK],
      [USE_LINK, 12, 40, 'unknown', LINK],
    ],
  ],
  [
    'a use of a revoked link',
    [
      [REVOKE_LINK, 6, 7, {}, { link: 'l' }],
      [USE_LINK, 10, 11, {}, LINK],
    ],
  ],
  [
    'a use of a replaced link',
    [
      [MAKE_LINK, 6, 7, { recoveryLink: { recoveryLinkId: 'm' } }],
      [USE_LINK, 10, 11, {}, LINK],
    ],
  ],
  [
    'a remembered sign-in after the use',
    [
      [USE_LINK, 10, 11, {}, LINK],
      [CONTINUE, 12, 13, { active: true }, { remembered: 'r0' }],
    ],
  ],
  [
    'a passkey after the use',
    [
      [USE_LINK, 10, 11, {}, LINK],
      [SIGN_IN_BY_PASSKEY, 12, 13, { remembered: 'x' }, { passkey: 'k2' }],
    ],
  ],
  ['a sign-in of before that adds one', [[USE_LINK, 10, 11, {}, LINK], addPasskey(12, 'p0')]],
  [
    'the end of what begins after the use',
    [[USE_LINK, 10, 11, {}, LINK], addPasskey(12, 'l'), [LIST, 14, 15, listing()]],
  ],
])('notices %s', (_, made) => {
  expect(findIn(...made)).toBeDefined();
});
