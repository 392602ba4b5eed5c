import { randomBytes } from 'node:crypto';
import type postgres from 'postgres';
import { openClient } from '../../../../src/database/connection/open-client.ts';
import { startEmbeddedPostgres } from '../../../../src/database/embedded/embedded-postgres.ts';
import { migrateDatabase } from '../../../../src/database/migrate/migrate.ts';
import { Database } from '../../../../src/database/pool/database.ts';
import { BY_USHER, withAudit } from '../../../../src/domain/audit/audit-event.ts';
import { createLoginCode } from '../../../../src/domain/login/create-login-code.ts';
import { createAuthPageLink, generateAuthUrl } from '../../../../src/domain/login/generate-auth-url.ts';
import { deriveLoginCodeKeys } from '../../../../src/domain/login/login-code.ts';
import { redeemLoginCode } from '../../../../src/domain/login/redeem-login-code.ts';
import { SignUpRules } from '../../../../src/domain/login/sign-up-rules.ts';
import { exchangeToken } from '../../../../src/domain/sessions/exchange-token.ts';
import { renewSession } from '../../../../src/domain/sessions/renew-session.ts';
import { AuthTokens } from '../../../../src/domain/tokens/auth-tokens.ts';
import { removeExpired } from '../../../../src/jobs/expiry.ts';
import {
  AUTH_PAGE_URL,
  addressAt,
  createFixtures,
  type Fixtures,
  ISSUER,
  SIGNED_IN_USERS,
  userAt,
} from '../fixtures.ts';
import { layOutTable } from '../report/lay-out-table.ts';
import type { Progress } from '../run-bench.ts';
import { seedDatabase } from '../seed-database.ts';
import { makeDirectory } from '../set-up.ts';
import { addToUsers, IDLE_DAYS, signInForLong } from './sign-in-for-long.ts';

interface Size {
  readonly name: string;
  readonly live: number;
  /** Bytes of a row. */
  readonly heap: number;
  readonly index: number;
}

const CONCURRENCY = 16;
const MINUTES_A_DAY = 24 * 60;
const SCALES = [1e6, 1e9];
/** How many minutes rows are kept. Of the others there is one per user, or two. */
const KEPT_MINUTES: Readonly<Record<string, number>> = {
  // Sign-ins and renewals: those of a login.
  audit_events: 90 * MINUTES_A_DAY,
  login_codes: 10,
  login_intents: 90,
  rate_limits: 105,
  session_ids: 15,
  sessions: 25,
};

/** What the second table shows. */
const KEPT_PER_LOGIN = ['session_ids', 'oidc_grants'];
const KEPT_FOR_LONG = [
  ...[...KEPT_PER_LOGIN, 'sessions', 'remembered_sign_ins', 'user_identities', 'passkeys', 'hourly_counts'],
];

/**
 * Shows what logins by e-mail with a renewed session write, and how much room that takes at 10^6 and 10^9 of them a day.
 * Bytes and writes are measured; how long rows are kept is multiplied.
 */
export async function measureSizes(stack: AsyncDisposableStack, progress: Progress, logins: number): Promise<boolean> {
  const directory = await makeDirectory(stack);
  const fixtures = createFixtures();
  const postgres = await startEmbeddedPostgres(directory, { durable: false });
  stack.defer(() => postgres.close());
  await migrateDatabase(postgres.url);
  await seedDatabase(postgres.url, fixtures, logins);
  const sql = openClient(postgres.url, { max: 1 });
  stack.defer(() => sql.end());
  // What is there already would be counted.
  await sql`truncate sessions, session_ids`;
  const before = await readCounts(sql);
  const openDatabase = () => new Database(postgres.url, { connections: 4, statementTimeoutMs: 30_000 });
  const database = openDatabase();
  progress(`${logins} logins`);
  await logInAll(database, fixtures, logins);
  const loggedIn = await readCounts(sql);
  const sizes = await readSizes(sql);
  const measured = await readCounts(sql);
  // Two hours later: what is kept for long stays.
  await removeExpired(database, { now: new Date(Date.now() + 2 * 60 * 60_000), webhookLogDays: 14 });
  // Connections that end have told what they have written.
  await database.close();
  const after = await readCounts(sql);
  progress(`${logins} logins with OpenID Connect`);
  await sql`truncate sessions, session_ids`;
  const databaseForLong = openDatabase();
  await signInForLong(databaseForLong, sql, fixtures, logins);
  await databaseForLong.close();
  await addToUsers(sql);
  const sizesForLong = await readSizes(sql);

  const writesOf = (name: string) => ((after.writes.get(name) ?? 0) - (before.writes.get(name) ?? 0)) / logins;
  const used = sizes.filter(({ name }) => writesOf(name) > 0.01);
  const table = used.map((size) => describe(size, logins, KEPT_MINUTES[size.name], writesOf(size.name).toFixed(1)));
  const forLong = sizesForLong
    .filter(({ name }) => KEPT_FOR_LONG.includes(name))
    .map((size) =>
      describe(size, logins, KEPT_PER_LOGIN.includes(size.name) ? IDLE_DAYS * MINUTES_A_DAY : undefined, ''),
    );
  const header = [
    '',
    'writes a login',
    'bytes a row',
    'kept',
    ...SCALES.flatMap((loginsADay) => [`at ${loginsADay}`, 'GB']),
  ];
  const writes = sizes.reduce((sum, { name }) => sum + writesOf(name), 0);
  const wal = (loggedIn.wal - before.wal + after.wal - measured.wal) / logins;
  const perSecond = SCALES.map((loginsADay) => loginsADay / (MINUTES_A_DAY * 60));
  process.stdout.write(`${layOutTable(header, table)}
a login: ${writes.toFixed(1)} row writes, ${wal.toFixed(0)} bytes of WAL without full pages
${perSecond.map((rate) => `${rate.toFixed(0)} logins/s: ${(rate * writes).toFixed(0)} row writes/s, ${((rate * wal) / 1e6).toFixed(1)} MB/s of WAL`).join('\n')}

with OpenID Connect, and sessions of ${IDLE_DAYS} idle days
${layOutTable(header, forLong)}`);
  return true;
}

/** Returns a row: what the logins of so many minutes take, or users have, or there is in any case. */
function describe(
  { name, heap, index, live }: Size,
  logins: number,
  kept: number | undefined,
  written: string,
): string[] {
  const days = name === 'hourly_counts' ? 0 : kept === undefined ? 1 : kept / MINUTES_A_DAY;
  const stored = SCALES.map((loginsADay) => (days === 0 ? live : (live / logins) * loginsADay * days));
  return [
    name,
    written,
    `${heap.toFixed(0)}+${index.toFixed(0)}`,
    days === 0 ? 'fixed' : kept === undefined ? 'per user' : kept > MINUTES_A_DAY ? `${days} days` : `${kept} min`,
    ...stored.flatMap((count) => [count.toExponential(1), ((count * (heap + index)) / 1e9).toPrecision(2)]),
  ];
}

/** Each user signs in once, and renews the session once. */
async function logInAll(database: Database, { application, tokenKey, encryptionKey }: Fixtures, logins: number) {
  const jwk = { ...tokenKey.export({ format: 'jwk' }), kid: 'key', alg: 'EdDSA' };
  const tokens = await AuthTokens.create(ISSUER, [jwk]);
  const codes = { keys: deriveLoginCodeKeys([encryptionKey]), limitFactor: 1 };
  const parts = { codes, tokens, signUps: new SignUpRules() };
  const linkTo = createAuthPageLink(AUTH_PAGE_URL);
  const settings = { tokens, sessionMaxAgeSeconds: 12 * 60 * 60 };
  const [redirectUri = ''] = application.redirectUris;
  // The action decides in which indexes of the audit log a row is.
  const callAt = (now: Date, action: string) => ({
    application,
    now,
    run: withAudit(database.within(performance.now() + 30_000), { ...BY_USHER, action, now }),
  });

  async function logIn(number: number): Promise<void> {
    const { email } = userAt(number);
    const call = callAt(new Date(), 'POST /login/code');
    const browser = {
      digest: randomBytes(32),
      answerDigest: randomBytes(32),
      knownAnswers: [],
      address: addressAt(number),
      userAgent: 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0',
    };
    const peer = { ipAddress: '127.0.0.1', userAgent: 'node' };
    const request = { clientId: application.clientId, redirectUri, state: randomBytes(16).toString('hex') };
    const { loginIntentId } = await generateAuthUrl(call, linkTo, request);
    const { code } = await createLoginCode(call, parts, browser, { loginIntentId, email });
    const completion = await redeemLoginCode(call, parts, browser, { loginIntentId, code });
    // The clock of Postgres may have gone on to the next second: no token is of the future.
    const session = await exchangeToken(callAt(new Date(), 'AuthService/ExchangeToken'), settings, peer, {
      authToken: completion?.authToken ?? '',
    });
    const later = callAt(new Date(Date.now() + 10 * 60_000), 'SessionService/RenewSession');
    await renewSession(later, settings, { sessionId: session.id });
  }

  let next = SIGNED_IN_USERS;
  const end = SIGNED_IN_USERS + logins;
  const work = async () => {
    while (next < end) await logIn(next++);
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, work));
}

/** Returns the rows written to each table since the start, and the bytes of WAL but for full pages. */
async function readCounts(sql: postgres.Sql) {
  await sql`select pg_sleep(1.5)`;
  const rows = await sql`select relname, (n_tup_ins + n_tup_upd + n_tup_del)::int as writes from pg_stat_user_tables`;
  const [wal] = await sql`select pg_current_wal_insert_lsn() - '0/0'::pg_lsn as bytes`;
  return {
    writes: new Map<string, number>(rows.map(({ relname, writes }) => [relname, writes])),
    wal: Number(wal?.bytes),
  };
}

/** Returns the bytes that a live row takes in each table, and how many there are. */
async function readSizes(sql: postgres.Sql): Promise<Size[]> {
  // Without what updates have left.
  await sql`vacuum full analyze`;
  const rows = await sql`
    select relname as name, reltuples::int as live, pg_table_size(oid)::int as heap, pg_indexes_size(oid)::int as index
    from pg_class where relkind = 'r' and relnamespace = 'usher'::regnamespace and reltuples > 0`;
  return rows.map(({ name, live, heap, index }) => ({ name, live, heap: heap / live, index: index / live }));
}
