/** "Continue as" on two replicas, while revocations end the sign-in. */
import { expect } from 'vitest';
import { beginLogin, LoginBrowser, type LoginPage } from './login-browser.ts';
import type { LoginFixture } from './login-fixture.ts';
import { adminClient, clientsOf, createTenant, type Tenant, type TestService } from './service.ts';

/** How many browsers with the same cookie continue at once. */
const TABS = 6;

interface Victim {
  readonly userId: string;
  /** In the application of the sign-in. */
  readonly sessionId: string;
  readonly browser: LoginBrowser;
}

/**
 * Ends a sign-in in each round while tabs of the browser continue with it in another application. What has begun before
 * the revocation may live on there only if the revocation is not for that application; once the revocation has answered,
 * nothing begins any more, on either replica.
 */
export async function raceContinuations(fixture: LoginFixture, rounds: number): Promise<void> {
  const { service } = fixture;
  await using replica = await fixture.startReplica();
  const [shop, forum] = [await createShared(service), await createShared(service)];
  const admin = adminClient(service);
  const sessions = clientsOf(service, shop).sessions;
  const revocations: Readonly<Record<string, (victim: Victim) => Promise<unknown>>> = {
    RevokeSession: ({ sessionId }) => sessions.revokeSession({ sessionId }),
    RevokeUserSessions: ({ userId }) => sessions.revokeUserSessions({ userId }),
    'RevokeUserSessions there': ({ userId }) => clientsOf(service, forum).sessions.revokeUserSessions({ userId }),
    'RemoveApplicationUser there': ({ userId }) => admin.removeApplicationUser({ applicationId: forum.id, userId }),
    EndUserSessions: ({ userId }) => admin.endUserSessions({ userId }),
    DeactivateUser: ({ userId }) => admin.deactivateUser({ userId }),
    DeleteUser: ({ userId }) => admin.deleteUser({ userId }),
    EraseUser: ({ userId }) => admin.eraseUser({ userId }),
    forget: async ({ browser }) => {
      const { path } = await beginLogin(service, forum);
      const page = await browser.open(path);
      await browser.submit(page, '/login/forget');
    },
  };
  /** What ends the sessions that have begun there, too. */
  const endsThere = /there|User$|^End/;
  const names = Object.keys(revocations);
  let continued = 0;
  let refused = 0;
  for (let round = 0; round < rounds; round++) {
    const name = names[round % names.length] ?? '';
    const { browser, user, code, enter } = await fixture.askForCode({ of: shop });
    const { session } = await exchange(service, shop, await enter(code));
    const victim = { userId: user.id, sessionId: session?.id ?? '', browser };
    const copies = Array.from({ length: TABS }, (_, tab) => copyOf(browser, tab % 2 === 0 ? service : replica));
    const logins = await Promise.all(copies.map(() => beginLogin(service, forum)));
    const pages = await Promise.all(copies.map((copy, tab) => copy.open(logins[tab]?.path ?? '')));
    fixture.clock.advance(1);
    const racing = copies.map(async (copy, tab) => {
      for (let waited = 0; waited < tab + (round % 5); waited++) await new Promise(setImmediate);
      const answer = await copy.submit(pages[tab] as LoginPage, '/login/continue');
      return answer.location
        ? await exchange(tab % 2 === 0 ? replica : service, forum, answer).catch(() => undefined)
        : undefined;
    });
    await revocations[name]?.(victim);
    const late = await Promise.all(
      [service, replica].map(async (at) => {
        const copy = copyOf(browser, at);
        copy.cookie = copies[0]?.cookie;
        const login = await beginLogin(at, forum);
        const page = await copy.open(login.path);
        const isOffered = page.forms.some(({ action }) => action === '/login/continue');
        const { token = '' } = pages[0]?.forms.find(({ fields }) => fields.token)?.fields ?? {};
        const answer = await copy.post('/login/continue', { intent: login.loginIntentId, token });
        return { isOffered, location: answer.location };
      }),
    );
    expect(late, `round ${round}, ${name}`).toEqual(Array(2).fill({ isOffered: false, location: undefined }));
    const begun = (await Promise.all(racing)).flatMap((each) => each?.session?.id ?? []);
    continued += begun.length;
    refused += TABS - begun.length;
    // One session per user and application.
    expect(new Set(begun).size, `round ${round}, ${name}`).toBeLessThanOrEqual(name === 'RevokeSession' ? 1 : 2);
    for (const sessionId of begun) {
      const { active } = await clientsOf(service, forum).sessions.checkSession({ sessionId, maxStalenessMs: 0 });
      if (endsThere.test(name)) expect(active, `round ${round}, ${name}`).toBe(false);
    }
  }
  // Otherwise there was no race.
  expect(continued).toBeGreaterThan(0);
  expect(refused).toBeGreaterThan(0);
}

async function createShared(service: TestService): Promise<Tenant> {
  const tenant = await createTenant(service);
  await adminClient(service).updateApplication({ applicationId: tenant.id, singleSignOn: true });
  return tenant;
}

/** Returns another tab of the browser, with cookies of its own from then on. */
function copyOf(browser: LoginBrowser, at: TestService): LoginBrowser {
  const copy = new LoginBrowser(at);
  copy.cookie = browser.cookie;
  return copy;
}

async function exchange(service: TestService, of: Tenant, { location = '' }: LoginPage) {
  const authToken = new URL(location).searchParams.get('authToken') ?? '';
  return clientsOf(service, of).auth.exchangeToken({ authToken });
}
