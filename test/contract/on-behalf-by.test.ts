/** Sign-ins of somebody else on behalf of a user. On Usher's own pages: test/login-page/on-behalf-by.test.ts. */
import { timestampDate } from '@bufbuild/protobuf/wkt';
import { expect, it } from 'vitest';
import { AdminService } from '../../gen/usher/v1/admin_pb.ts';
import { refusal, validationFailed } from '../support/answers.ts';
import { MINUTE, TestClock } from '../support/clock.ts';
import { adminClient, clientsOf, createLoginIntent, createTestUser, createTestWebhook } from '../support/service.ts';
import { openContractFixture } from './contract-fixture.ts';

const clock = new TestClock(new Date());
const { service, tenant, callWith } = await openContractFixture({ clock: clock.read });
const { auth, sessions, webhooks } = clientsOf(service, tenant);
const admin = adminClient(service);
const { completeLogin } = AdminService.method;
const HELPER = 'Zoë of the support';

async function signIn(userId: string, onBehalfBy?: string) {
  clock.advance(1_000);
  const login = { loginIntentId: await createLoginIntent(service, tenant), userId, ...(onBehalfBy && { onBehalfBy }) };
  const { authToken } = await admin.completeLogin(login);
  const { session } = await auth.exchangeToken({ authToken });
  if (!session?.authTime) throw new Error('The session has no sign-in');
  return session;
}

async function sessionsOf(userId: string, sessionId: string) {
  const { session: checked } = await sessions.checkSession({ sessionId, maxStalenessMs: 0 });
  const [listed] = (await sessions.listSessions({ userId })).sessions;
  const [ofOperator] = (await admin.listUserSessions({ userId })).sessions;
  return [checked, listed, ofOperator];
}

it('are in the session, the audit log and the message to webhooks, with the name', async () => {
  const { id: userId } = await createTestUser(service);
  const { webhookId } = await createTestWebhook(service, tenant);
  await webhooks.updateWebhook({ webhookId, eventTypes: ['session.created'] });
  const session = await signIn(userId, HELPER);
  expect(session.method).toBe('impersonation');
  for (const each of await sessionsOf(userId, session.id))
    expect(each).toMatchObject({ method: 'impersonation', onBehalfBy: HELPER });
  const { auditEvents } = await admin.listAuditEvents({ applicationId: tenant.id });
  const ofUser = auditEvents.filter(({ resource }) => resource === userId);
  expect(Object.fromEntries(ofUser.map(({ action, onBehalfBy }) => [action, onBehalfBy]))).toEqual({
    'AuthService/ExchangeToken': undefined,
    'AdminService/CompleteLogin': HELPER,
  });
  const messages = await service.database.sql`select payload from webhook_messages where user_id = ${userId}`;
  expect(messages.map(({ payload }) => JSON.parse(payload).data)).toEqual([
    expect.objectContaining({ method: 'impersonation', onBehalfBy: HELPER }),
  ]);
});

it('are never fresh: their auth_time is 1970, until the user signs in', async () => {
  const { id: userId } = await createTestUser(service);
  const first = await signIn(userId);
  const onBehalf = await signIn(userId, HELPER);
  expect(onBehalf.id).toBe(first.id);
  expect(onBehalf.authTime && timestampDate(onBehalf.authTime).getTime()).toBe(0);
  const [checked, listed] = await sessionsOf(userId, first.id);
  for (const each of [checked, listed]) expect(each?.authTime && timestampDate(each.authTime).getTime()).toBe(0);

  clock.advance(10 * MINUTE);
  const { session: renewed } = await sessions.renewSession({ sessionId: first.id });
  expect((await sessionsOf(userId, renewed?.id ?? ''))[0]).toMatchObject({ onBehalfBy: HELPER });

  const own = await signIn(userId);
  expect(own.id).toBe(renewed?.id);
  expect(own.authTime && timestampDate(own.authTime)).toEqual(clock.read());
  for (const each of await sessionsOf(userId, own.id)) {
    expect(each?.method).toBe('page');
    expect(each?.onBehalfBy).toBeUndefined();
  }
});

it.each([{ prompt: 'LOGIN' }, { prompt: 'PASSKEYS' }, { maxAgeSeconds: 0 }, { maxAgeSeconds: 31_536_000 }])(
  'are refused by an intent with %j, which stays open',
  async (demands) => {
    const { id: userId } = await createTestUser(service);
    const loginIntentId = await createLoginIntent(service, tenant, demands);
    const login = { loginIntentId, userId };
    expect(await callWith(completeLogin, { ...login, onBehalfBy: HELPER })).toEqual(
      refusal('failed_precondition', 'Sign-in not fresh'),
    );
    expect(await callWith(completeLogin, login)).toMatchObject({ code: 'ok' });
    expect(await callWith(completeLogin, { ...login, onBehalfBy: HELPER })).toEqual(
      refusal('failed_precondition', 'Login intent already completed'),
    );
  },
);

it('need a name of 1 to 255 characters', async () => {
  const { id: userId } = await createTestUser(service);
  for (const onBehalfBy of ['', 'x'.repeat(256), 'two\nlines']) {
    const login = { loginIntentId: await createLoginIntent(service, tenant), userId };
    expect(await callWith(completeLogin, { ...login, onBehalfBy })).toEqual(validationFailed('onBehalfBy'));
  }
  expect((await signIn(userId, '\u{1F6AA}'.repeat(255))).method).toBe('impersonation');
});
