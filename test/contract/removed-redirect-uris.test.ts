/** A login leads to a redirect URI that the application still has, or expires. */
import { afterAll, expect, test } from 'vitest';
import {
  adminClient,
  clientsOf,
  createLoginIntent,
  createTenant,
  createTestUser,
  startTestService,
} from '../support/service.ts';

const service = await startTestService();
afterAll(service.close);
const admin = adminClient(service);
const user = await createTestUser(service);

interface Case {
  readonly registered: string;
  /** With which the login begins, if it is another one. */
  readonly begun?: string;
  readonly changed: readonly string[];
  readonly publicClient?: boolean;
  readonly status: 'open' | 'expired';
}

const HTTPS = 'https://app.test/callback';

const CASES: Readonly<Record<string, Case>> = {
  'another one comes first': { registered: HTTPS, changed: ['https://other.test/', HTTPS], status: 'open' },
  'it leaves': { registered: HTTPS, changed: ['https://other.test/'], status: 'expired' },
  'it gets a query': { registered: HTTPS, changed: [`${HTTPS}?a=b`], status: 'expired' },
  'it gets a port': { registered: HTTPS, changed: ['https://app.test:8443/callback'], status: 'expired' },
  'it loses a port': {
    registered: 'https://app.test:8443/callback',
    changed: [HTTPS],
    status: 'expired',
  },
  'a private scheme leaves': { registered: 'com.app.test:/a', changed: ['com.app.test:/b'], status: 'expired' },
  'any port of a loopback address': {
    registered: 'http://127.0.0.1/a',
    begun: 'http://127.0.0.1:5000/a',
    changed: [HTTPS, 'http://127.0.0.1/a', 'http://[::1]/a'],
    status: 'open',
  },
  'a loopback address with another port': {
    registered: 'http://[::1]:5000/a?b',
    begun: 'http://[::1]:6000/a?b',
    changed: ['http://[::1]:7000/b', 'http://[::1]:7000/a?b'],
    status: 'open',
  },
  'a loopback address without a path': {
    registered: 'http://127.0.0.1:5000',
    changed: ['http://127.0.0.1:6000', 'http://127.0.0.1:6000/a'],
    status: 'open',
  },
  'a loopback address with another path': {
    registered: 'http://127.0.0.1:5000/a',
    changed: ['http://127.0.0.1:5000/b'],
    status: 'expired',
  },
  'another loopback address': {
    registered: 'http://127.0.0.1:5000/a',
    changed: ['http://[::1]:5000/a'],
    status: 'expired',
  },
  'localhost with another port': {
    registered: 'http://localhost:5000/a',
    changed: ['http://localhost:6000/a'],
    status: 'expired',
  },
  'localhost of a public client with another port': {
    registered: 'http://localhost:5000/a',
    changed: ['http://localhost:6000/a'],
    publicClient: true,
    status: 'open',
  },
};

test.each(Object.entries(CASES))('%s', async (_, { registered, changed, publicClient = false, status, ...login }) => {
  const tenant = await createTenant(service, { redirectUris: [registered], publicClient });
  const applicationId = tenant.id;
  const { begun = registered } = login;
  const intents = await Promise.all([1, 2].map(() => createLoginIntent(service, tenant, { redirectUri: begun })));
  const [loginIntentId = '', other = ''] = intents;
  await admin.updateApplication({ applicationId, redirectUris: [...changed] });
  expect((await admin.getLoginIntent({ loginIntentId })).loginIntent?.state).toBe(status);
  const complete = () => admin.completeLogin({ loginIntentId, userId: user.id });
  if (status === 'open') {
    expect((await complete()).redirectUrl).toContain(begun);
    return;
  }
  await expect(complete()).rejects.toThrow('Login intent expired');
  await expect(admin.cancelLogin({ loginIntentId })).rejects.toThrow('Login intent expired');
  await admin.updateApplication({ applicationId, redirectUris: [registered] });
  expect((await complete()).redirectUrl).toContain(begun);
  // A login that has been completed before the change keeps its token.
  const { authToken } = await admin.completeLogin({ loginIntentId: other, userId: user.id });
  await admin.updateApplication({ applicationId, redirectUris: [...changed] });
  expect((await admin.getLoginIntent({ loginIntentId })).loginIntent?.state).toBe('completed');
  expect((await clientsOf(service, tenant).auth.exchangeToken({ authToken })).session).toBeTruthy();
});
