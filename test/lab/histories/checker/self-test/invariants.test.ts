/** The checker of what goes beyond a row takes a correct history, and notices each kind of wrong answer in it. */
import { Webhook } from 'standardwebhooks';
import { expect, test } from 'vitest';
import { CHANGE_ADDRESS, SIGN_IN_TO_ACCOUNT } from '../address-model.ts';
import { TOKEN } from '../grant-model.ts';
import { CHECK_IN_MEMORY } from '../invariants/bounded-checks.ts';
import { USERINFO } from '../invariants/grants.ts';
import type { SignedMessage } from '../invariants/signatures.ts';
import { type History, judge } from '../judge.ts';
import type { Answer, Input, Operation, Outcome } from '../operation.ts';
import { MAKE_LINK, USE_LINK } from '../recovery-model.ts';

const ENDS_AT = 10_000;

/** A call that takes a millisecond. */
function call(
  rpc: string,
  subject: string,
  calledAt: number,
  answer: Answer | 'unknown' | { readonly refusal: string },
  input: Input = {},
): Operation {
  const outcome: Outcome = answer === 'unknown' || 'refusal' in answer ? answer : { answer };
  const returnedAt = outcome === 'unknown' ? Number.POSITIVE_INFINITY : calledAt + 1;
  return { id: `${rpc} ${calledAt}`, rpc, subject, replica: 0, input, calledAt, returnedAt, outcome };
}

const event = { eventId: 'e', createdAt: '2026-01-01T00:00:00Z' };
const INVALID_KEY = { refusal: 'Invalid API key' };
const bounded = { sessionId: 's', maxStalenessMs: 2_000 };

const [KEY, OTHER_KEY, FOREIGN_KEY] = ['a', 'b', 'c'].map((letter) => `whsec_${btoa(letter.repeat(32))}`) as [
  ...[string, string, string],
];
const shown = (signingKey: string): Answer => ({ webhook: { webhookId: 'w', isActive: true, signingKey } });
const signWith = (key: string): SignedMessage => {
  const [id, body, now] = ['id', '{}', new Date()];
  const headers = {
    ...{ 'webhook-id': id, 'webhook-timestamp': String(Math.floor(now.getTime() / 1_000)) },
    'webhook-signature': new Webhook(key).sign(id, now, body),
  };
  return { webhookId: 'w', headers, body };
};

const OPERATIONS: readonly Operation[] = [
  call('EventService/CreateEvent', 'event e', 0, { event }),
  call('EventService/CreateEvent', 'event lost', 1, 'unknown'),
  call('EventService/ListEvents', 'list events', 2, { events: [{ eventId: 'e' }] }),
  call('EventService/CheckIn', 'event e', 4, { checkIn: { checkedInAt: 'now' } }, { attendeeId: 'ada' }),
  call('EventService/DeleteEvent', 'event e', 6, {}),
  call('EventService/ListEvents', 'list events', 8, {}),
  call('EventService/DeleteEvent', 'event e', 10, { refusal: 'Event not found' }),

  call('AdminService/CreateApiKey', 'key k', 0, { apiKeyId: 'k' }),
  call('EventService/ListEvents', 'key k', 2.5, {}),
  call('AdminService/RevokeApiKey', 'key k', 4, {}),
  call('EventService/ListEvents', 'key k', 5_006, INVALID_KEY),
  call('AdminService/ListApiKeys', 'list keys', 5_008, { apiKeys: [{ apiKeyId: 'k' }] }),

  call('AdminService/CompleteLogin', 'session u', 0, { authToken: 't' }),
  call('AuthService/ExchangeToken', 'session u', 2, { session: { id: 's' } }, { authToken: 't' }),
  call('AuthService/ExchangeToken', 'session u', 4, { session: { id: 's' } }, { authToken: 't' }),
  call('SessionService/CheckSession', 'session u', 6, { active: true }, bounded),
  call('SessionService/RevokeSession', 'session u', 8, {}, { sessionId: 's' }),
  call('SessionService/CheckSession', 'session u', 2_010, {}, bounded),
  call('AdminService/CompleteLogin', 'session u', 2_012, { authToken: 'u' }),
  call('AuthService/ExchangeToken', 'session u', 2_014, { session: { id: 'r' } }, { authToken: 'u' }),
  call('AdminService/DeactivateUser', 'session u', 2_016, { user: { deactivatedAt: 'now' } }),

  call('AdminService/CompleteLogin', 'session t', 0.25, { authToken: 'v' }),
  call('AuthService/ExchangeToken', 'session t', 2.25, { session: { id: 'q' } }, { authToken: 'v' }),
  call(MAKE_LINK, 'session t', 4.25, { recoveryLink: { recoveryLinkId: 'l' } }),
  call(USE_LINK, 'session t', 6.25, {}, { link: 'l' }),
  call(USE_LINK, 'session t', 8.25, { refusal: 'This link cannot be used' }, { link: 'l' }),
  call(CHECK_IN_MEMORY, 'session t', 3.25, { active: true }, { sessionId: 'q', maxStalenessMs: 500 }),
  call(CHECK_IN_MEMORY, 'session t', 507.25, { active: true }, { sessionId: 'q', maxStalenessMs: 500 }),
  call(CHECK_IN_MEMORY, 'session t', 508.25, {}, { sessionId: 'q', maxStalenessMs: 500 }),
  call('SessionService/CheckSession', 'session t', 2_008.25, {}, { sessionId: 'q', maxStalenessMs: 2_000 }),

  call('AdminService/GetUser', 'address x', 0, { user: { email: 'old@example.com' } }),
  call(SIGN_IN_TO_ACCOUNT, 'address x', 2, {}, { proof: 'p' }),
  call(CHANGE_ADDRESS, 'address x', 4, {}, { proof: 'p', email: 'new@example.com' }),

  call('WebhookService/CreateWebhook', 'webhook w', 0, shown(KEY)),
  call('WebhookService/RotateSigningKey', 'webhook w', 2, shown(OTHER_KEY)),

  call('AdminService/CompleteLogin', 'grant v', 1, { redirectUrl: 'https://app.test' }, { grantId: 'g' }),
  call(TOKEN, 'grant v', 3, {}, { grantId: 'g' }),
  call(USERINFO, 'grant v', 5, { active: true }, { grantId: 'g' }),
  call('SessionService/EndGrant', 'grant v', 7, {}, { grantId: 'g' }),
  call(USERINFO, 'grant v', 5_009, {}, { grantId: 'g' }),

  call('AdminService/CompleteLogin', 'grant y', 1.5, { redirectUrl: 'https://app.test' }, { grantId: 'h' }),
  call(TOKEN, 'grant y', 3.5, {}, { grantId: 'h' }),
  call(MAKE_LINK, 'grant y', 5.5, { recoveryLink: { recoveryLinkId: 'm' } }),
  call(USE_LINK, 'grant y', 7.5, {}, { link: 'm' }),
  call(USERINFO, 'grant y', 5_009.5, {}, { grantId: 'h' }),
];

const CHANGES = [
  ...['EventService/CreateEvent 0', 'EventService/CheckIn 4', 'EventService/DeleteEvent 6'],
  ...['AdminService/CreateApiKey 0', 'AdminService/RevokeApiKey 4', 'AdminService/CompleteLogin 0'],
  ...['AuthService/ExchangeToken 2', 'SessionService/RevokeSession 8', 'AdminService/CompleteLogin 2012'],
  ...['AuthService/ExchangeToken 2014', 'AdminService/DeactivateUser 2016'],
  ...['AdminService/CompleteLogin 1', `${TOKEN} 3`, 'SessionService/EndGrant 7'],
  ...[`${SIGN_IN_TO_ACCOUNT} 2`, `${CHANGE_ADDRESS} 4`],
  ...['WebhookService/CreateWebhook 0', 'WebhookService/RotateSigningKey 2'],
  ...['AdminService/CompleteLogin 0.25', 'AuthService/ExchangeToken 2.25', `${MAKE_LINK} 4.25`, `${USE_LINK} 6.25`],
  ...['AdminService/CompleteLogin 1.5', `${TOKEN} 3.5`, `${MAKE_LINK} 5.5`, `${USE_LINK} 7.5`],
];

const CORRECT: History = {
  operations: OPERATIONS,
  log: CHANGES.map((requestId) => ({ ...entryOf(requestId), requestId })),
  messages: [
    { id: '1', type: 'event.created', data: { eventId: 'e' } },
    { id: '2', type: 'check_in.created', data: { eventId: 'e', attendeeId: 'ada' } },
    { id: '3', type: 'event.deleted', data: { eventId: 'e' } },
    // Delivered twice, which is allowed.
    { id: '3', type: 'event.deleted', data: { eventId: 'e' } },
    { id: '4', type: 'session.created', data: { userId: 'u' } },
    { id: '5', type: 'session.revoked', data: { userId: 'u' } },
    { id: '6', type: 'session.created', data: { userId: 'u' } },
    { id: '7', type: 'session.revoked', data: { userId: 'u' } },
    { id: '8', type: 'user.deactivated', data: { id: 'u' } },
    { id: '10', type: 'session.created', data: { userId: 't' } },
    { id: '11', type: 'session.revoked', data: { userId: 't' } },
  ],
  signedMessages: [KEY, OTHER_KEY].map(signWith),
  notices: ['new@example.com'],
  logoutTokens: [
    { sub: 'v', sid: 'g' },
    { sub: 'y', sid: 'h' },
  ],
  endsAt: ENDS_AT,
};

function entryOf(requestId: string) {
  const action = requestId.slice(0, requestId.lastIndexOf(' '));
  const ofEvent = action === 'EventService/CheckIn' ? 'e/ada' : 'e';
  const ofUser = requestId.endsWith('.25') ? 't' : 'u';
  const resource = action.startsWith('EventService/') ? ofEvent : ofUser;
  return { action, resource };
}

test('a correct history breaks no rule', () => {
  expect(judge(CORRECT)).toEqual([]);
});

const replace = (id: string, changes: Partial<Operation>): History => {
  const operations = OPERATIONS.map((operation) => (operation.id === id ? { ...operation, ...changes } : operation));
  return { ...CORRECT, operations };
};
const without = (id: string) => OPERATIONS.filter((operation) => operation.id !== id);
const answer = (id: string, answer: Answer) => replace(id, { outcome: { answer } });
const logOnly = (keeps: (requestId: string) => boolean): History => ({
  ...CORRECT,
  log: CORRECT.log.filter(({ requestId }) => keeps(requestId)),
});
const logAlso = (requestId: string): History => ({
  ...CORRECT,
  log: [...CORRECT.log, { ...entryOf(requestId), requestId }],
});
const tell = (change: (messages: History['messages']) => History['messages']): History => ({
  ...CORRECT,
  messages: change(CORRECT.messages),
});

const FLIPS: readonly [string, History][] = [
  ['a valid key is refused', replace('EventService/ListEvents 2.5', { outcome: INVALID_KEY })],
  ['a valid key is refused', replace('EventService/ListEvents 8', { outcome: INVALID_KEY })],
  ['a valid key is refused', replace('AdminService/CreateApiKey 0', { outcome: { refusal: 'Invalid admin key' } })],
  ['a revoked API key works', answer('EventService/ListEvents 5006', {})],
  ['a revoked API key works', replace('EventService/ListEvents 5006', { outcome: { refusal: 'Event not found' } })],
  ['EventService/ListEvents lacks what is there', answer('EventService/ListEvents 2', {})],
  ['EventService/ListEvents has what is not there', answer('EventService/ListEvents 8', { events: [event] })],
  ['AdminService/ListApiKeys lacks what is there', answer('AdminService/ListApiKeys 5008', {})],
  [
    'a session is active later than its bound after its end',
    answer('SessionService/CheckSession 2010', { active: true }),
  ],
  [
    'a session is active later than its bound after its end',
    answer('SessionService/CheckSession 2008.25', { active: true }),
  ],
  ['a session is active later than its bound after its end', answer(`${CHECK_IN_MEMORY} 508.25`, { active: true })],
  ['a live session is not active', answer(`${CHECK_IN_MEMORY} 3.25`, {})],
  ['a live session is not active', answer('SessionService/CheckSession 6', {})],
  // What a used recovery link leaves alive, and a second use.
  ['an access token is active 5 s after the end of its grant', answer(`${USERINFO} 5009.5`, { active: true })],
  ['the end of a grant was not told', { ...CORRECT, logoutTokens: CORRECT.logoutTokens.slice(0, 1) }],
  [`not linearizable: ${USE_LINK}`, answer(`${USE_LINK} 8.25`, {})],
  [`not linearizable: ${USE_LINK}`, replace(`${USE_LINK} 6.25`, { outcome: { refusal: 'This link cannot be used' } })],
  ['an acknowledged change has no audit event', logOnly((id) => id !== `${USE_LINK} 6.25`)],
  ['an access token is active 5 s after the end of its grant', answer(`${USERINFO} 5009`, { active: true })],
  ['a live access token is not active', answer(`${USERINFO} 5`, {})],
  ['the end of a grant was not told', { ...CORRECT, logoutTokens: [] }],
  ['a logout token tells of no end', { ...CORRECT, operations: without('SessionService/EndGrant 7') }],
  ['a change of an address was not told to the old one', { ...CORRECT, notices: [] }],
  ['a message is signed with no key of its webhook', { ...CORRECT, signedMessages: [signWith(FOREIGN_KEY)] }],
  ['an acknowledged change has no audit event', logOnly((id) => id !== `${TOKEN} 3`)],
  ['an acknowledged change has no audit event', logOnly((id) => id !== 'EventService/CheckIn 4')],
  ['a call has two audit events', logAlso('EventService/CreateEvent 0')],
  ['an audit event has no call', logAlso('EventService/CreateEvent 99')],
  ['a read has an audit event', logAlso('EventService/ListEvents 8')],
  ['a refused call has an audit event', logAlso('EventService/DeleteEvent 10')],
  [
    'a call that changes nothing has an audit event',
    answer('EventService/CheckIn 4', { checkIn: { checkedInAt: 'now' }, alreadyCheckedIn: true }),
  ],
  // The audit log says that a lost call took effect.
  ['a change was not delivered', logAlso('EventService/CreateEvent 1')],
  ['a change was not delivered', tell((messages) => messages.filter(({ type }) => type !== 'check_in.created'))],
  ['a change was not delivered', tell((messages) => messages.filter(({ type }) => type !== 'session.created'))],
  ['a change was not delivered', tell((messages) => messages.filter(({ type }) => type !== 'session.revoked'))],
  ['a change was not delivered', tell((messages) => messages.filter(({ type }) => type !== 'user.deactivated'))],
  ...['session.created', 'session.revoked', 'user.deactivated'].map((type): [string, History] => [
    'a message tells of no change',
    tell((messages) => [...messages, { id: '9', type, data: { id: 'u' } }]),
  ]),
  [
    'a message tells of no change',
    tell((messages) => [...messages, { id: '9', type: 'event.deleted', data: { eventId: 'e' } }]),
  ],
  [
    'a message tells of no change',
    tell((messages) => [...messages, { id: '9', type: 'event.created', data: { eventId: 'other' } }]),
  ],
];

test.for(FLIPS)('%s (%#)', ([rule, history]) => {
  expect(judge(history).map((violation) => violation.rule)).toContain(rule);
});
