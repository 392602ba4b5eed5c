/** How many statements an exchange sends, where the intent is beside the session and where it may be on another server. */
import { afterAll, expect, test } from 'vitest';
import { Database } from '../../../src/database/pool/database.ts';
import { BY_USHER, withAudit } from '../../../src/domain/audit/audit-event.ts';
import { exchangeToken } from '../../../src/domain/sessions/exchange-token.ts';
import { AuthTokens } from '../../../src/domain/tokens/auth-tokens.ts';
import { LAYOUT } from '../../support/database.ts';
import {
  adminClient,
  createLoginIntent,
  createTenant,
  createTestUser,
  PUBLIC_URL,
  startTestService,
} from '../../support/service.ts';

const service = await startTestService();
afterAll(() => service.close());
const { sql } = service.database;
const tokens = await AuthTokens.create(PUBLIC_URL, service.config.secrets.authSigningKeys ?? []);

const IF_LATE = 'selectLateSession';

test.for([
  {
    layout: 'whole',
    begun: ['findOrBeginSession'],
    updated: ['findOrBeginSession', 'updateSignIn', 'findOrBeginSessionAndNotify'],
  },
  {
    layout: 'distributed',
    begun: ['selectSessionOrigin', 'findOrBeginSession'],
    updated: ['selectSessionOrigin', 'findOrBeginSession', 'updateSignIn', 'findOrBeginSessionAndNotify'],
  },
] as const)(
  'an exchange on a $layout database sends no statement in vain',
  async ({ layout, begun, updated }, { skip }) => {
    skip(layout === 'whole' && LAYOUT === 'distributed', 'Citus refuses the statement for a whole database');
    const sent: string[] = [];
    const recordStatement = (name: string) => void sent.push(name);
    const settings = { connections: 1, statementTimeoutMs: 60_000, layout, recordStatement };
    const database = new Database(service.database.url, settings);
    const tenant = await createTenant(service);
    const user = await createTestUser(service);
    const logIn = async (ipAddress: string) => {
      const loginIntentId = await createLoginIntent(service, tenant);
      return (await adminClient(service).completeLogin({ loginIntentId, userId: user.id, ipAddress })).authToken;
    };
    const exchange = async (authToken: string) => {
      sent.length = 0;
      const now = new Date();
      const run = withAudit(database.within(performance.now() + 60_000), { ...BY_USHER, action: 'test', now });
      const application = { ...tenant, name: '', redirectUris: [] };
      const parts = { tokens, sessionMaxAgeSeconds: 3_600 };
      await exchangeToken({ run, now, application }, parts, { ipAddress: '', userAgent: '' }, { authToken });
      const [session] = await sql`select ip_address as address from sessions where user_id = ${user.id}`;
      return { sent: [...sent], address: session?.address };
    };
    const first = await logIn('192.0.2.1');
    expect(await exchange(first)).toEqual({ sent: [...begun, IF_LATE], address: '192.0.2.1' });
    expect(await exchange(first)).toEqual({ sent: begun, address: '192.0.2.1' });
    expect(await exchange(await logIn('192.0.2.2'))).toEqual({ sent: updated, address: '192.0.2.2' });
    await database.close();
  },
);
