/** The function of the database that decides who enters a restricted application. */
import { type SQL, sql as template } from 'drizzle-orm';
import type { TransactionSql } from 'postgres';
import { afterAll, expect, test } from 'vitest';
import { formOf } from '../../../src/database/pool/statement-runner.ts';
import type { Db, Run } from '../../../src/database/sql/statement.ts';
import { compile } from '../../../src/database/sql/template.ts';
import { hasAccess, isRefused, maySignIn } from '../../../src/domain/access/has-access.ts';
import { BY_USHER, withAudit } from '../../../src/domain/audit/audit-event.ts';
import { completeLogin } from '../../../src/domain/login/complete-login.ts';
import { AuthTokens } from '../../../src/domain/tokens/auth-tokens.ts';
import { LAYOUT } from '../../support/database.ts';
import { restrict } from '../../support/restricted-access.ts';
import { createLoginIntent, createTenant, PUBLIC_URL, startTestService } from '../../support/service.ts';

const service = await startTestService();
afterAll(() => service.close());
const { sql } = service.database;
const tokens = await AuthTokens.create(PUBLIC_URL, service.config.secrets.authSigningKeys ?? []);

const CONDITIONS = {
  has_access: hasAccess,
  is_refused: isRefused,
  may_sign_in: (applicationId: SQL, userId: SQL) => maySignIn(applicationId, userId, template`at_instant`),
};

test.each(Object.entries(CONDITIONS))(
  '%s is the condition that statements have, and reads the snapshot of its statement',
  async (name, toSql) => {
    const [found] = await sql`select prosrc as body, provolatile as volatility from pg_proc where proname = ${name}`;
    const { sql: condition } = compile(toSql(template`of_application`, template`of_user`));
    const squeeze = (text: string) =>
      text.toLowerCase().replace(/\s+/g, ' ').replaceAll('( ', '(').replace(' and true', '');
    expect(squeeze(found?.body)).toBe(squeeze(` BEGIN RETURN ${condition}; END `));
    expect(found?.volatility).toBe('s');
  },
);

/** Returns how often the connection has called it. Postgres may not have forgotten earlier transactions. */
async function readCalls(transaction: TransactionSql): Promise<number> {
  const [row] = await transaction`select calls::int from pg_stat_xact_user_functions where funcname = 'may_sign_in'`;
  return row?.calls ?? 0;
}

test.skipIf(LAYOUT === 'distributed')(
  'is called once by a login among few restricted applications, which Postgres may read whole, and never by others',
  async () => {
    // Postgres finds them before the one that is looked for.
    await sql`insert into applications (id, name, client_id, redirect_uris, created_at, restrict_access)
      select gen_random_uuid(), '', gen_random_uuid(), '{}', now(), true from generate_series(1, 3)`;
    const [restricted, open] = [await createTenant(service), await createTenant(service)];
    const { id: userId } = await (await restrict(service, restricted.id)).createUser('in a group');
    await sql`analyze applications`;
    const countCalls = async (loginIntentId: string) =>
      sql.begin(async (transaction) => {
        await transaction.unsafe("set local track_functions = 'pl'; set local plan_cache_mode = force_generic_plan");
        // The driver of a test reads instants, which that of the service leaves as texts.
        const unsafe = (...given: Parameters<typeof transaction.unsafe>) => ({
          async values() {
            const rows = await transaction.unsafe(...given).values();
            for (const row of rows)
              row.splice(0, row.length, ...row.map((value) => (value instanceof Date ? value.toISOString() : value)));
            return rows;
          },
        });
        const send: Run = async (statement, parameters) =>
          formOf(statement, 'whole')?.({ $client: { unsafe } } as unknown as Db).execute(parameters) as never;
        const now = new Date();
        const run = withAudit(send, { ...BY_USHER, action: 'test', now });
        const before = await readCalls(transaction);
        await completeLogin({ run, now }, tokens, { loginIntentId, userId });
        return (await readCalls(transaction)) - before;
      });
    expect(await countCalls(await createLoginIntent(service, restricted))).toBe(1);
    expect(await countCalls(await createLoginIntent(service, open))).toBe(0);
  },
);
