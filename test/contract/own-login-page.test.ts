/** AdminService/GetLoginIntent and CancelLogin, which a login page of the operator's own needs. */
import { describe, expect, it } from 'vitest';
import { AdminService } from '../../gen/usher/v1/admin_pb.ts';
import { refusal, success, validationFailed } from '../support/answers.ts';
import { MINUTE, TestClock } from '../support/clock.ts';
import { adminClient, beginLogin, createTenant, createTestUser, PUBLIC_URL } from '../support/service.ts';
import { openContractFixture, UNKNOWN_ID } from './contract-fixture.ts';

const { getLoginIntent, cancelLogin, completeLogin } = AdminService.method;
const REDIRECT_URI = 'https://app.test/callback?a=b';
const NOT_FOUND = refusal('not_found', 'Login intent not found');

const clock = new TestClock(new Date('2026-03-01T12:00:00.120Z'));
const { service, tenant, callWith } = await openContractFixture({ clock: clock.read, redirectUris: [REDIRECT_URI] });

const begin = () => beginLogin(service, tenant, { redirectUri: REDIRECT_URI, state: 'a&b' });

async function complete(loginIntentId: string) {
  return callWith(completeLogin, { loginIntentId, userId: (await createTestUser(service)).id });
}

describe('GetLoginIntent', () => {
  it('returns the name of the application, the expiry, and the state as it changes', async () => {
    const [completed, expired] = [await begin(), await begin()];
    const expiresAt = new Date(clock.read().getTime() + 30 * MINUTE).toISOString();
    const shown = (loginIntentId: string, state: string) =>
      success({
        loginIntent: { loginIntentId, applicationId: tenant.id, applicationName: tenant.name, state, expiresAt },
      });
    for (const id of [completed, expired]) {
      expect(await callWith(getLoginIntent, { loginIntentId: id })).toEqual(shown(id, 'open'));
    }
    await complete(completed);
    clock.advance(30 * MINUTE);
    expect(await callWith(getLoginIntent, { loginIntentId: completed })).toEqual(shown(completed, 'completed'));
    expect(await callWith(getLoginIntent, { loginIntentId: expired })).toEqual(shown(expired, 'expired'));
  });
});

describe('CancelLogin', () => {
  it('returns the redirect with access_denied, and the user may come back and sign in', async () => {
    const loginIntentId = await begin();
    const query = new URLSearchParams({ error: 'access_denied', state: 'a&b', iss: PUBLIC_URL });
    const redirectUrl = `${REDIRECT_URI}&${query}`;
    for (let time = 0; time < 2; time++) {
      expect(await callWith(cancelLogin, { loginIntentId })).toEqual(success({ redirectUrl }));
    }
    expect(await complete(loginIntentId)).toMatchObject({ code: 'ok' });
  });

  it('returns FailedPrecondition for an intent that is completed or expired', async () => {
    const [completed, expired] = [await begin(), await begin()];
    await complete(completed);
    const refusalOf = (id: string) => callWith(cancelLogin, { loginIntentId: id });
    expect(await refusalOf(completed)).toEqual(refusal('failed_precondition', 'Login intent already completed'));
    clock.advance(30 * MINUTE);
    expect(await refusalOf(expired)).toEqual(refusal('failed_precondition', 'Login intent expired'));
  });
});

describe.each([getLoginIntent, cancelLogin])('$name', (method) => {
  it('returns NotFound for an intent that is unknown or of a deleted application', async () => {
    const deleted = await createTenant(service);
    const loginIntentId = await beginLogin(service, deleted);
    await adminClient(service).deleteApplication({ applicationId: deleted.id });
    for (const id of [UNKNOWN_ID, loginIntentId])
      expect(await callWith(method, { loginIntentId: id })).toEqual(NOT_FOUND);
  });

  it('returns Validation failed for what is no UUID', async () => {
    expect(await callWith(method, { loginIntentId: 'intent' })).toEqual(validationFailed('loginIntentId'));
  });
});
