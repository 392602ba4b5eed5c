/** An erasure that races with everything that the user, or an application for the user, can do. */
import { hash, randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, expect, test } from 'vitest';
import { Database } from '../../src/database/pool/database.ts';
import { foldEmail } from '../../src/domain/login/known-origins.ts';
import { removeExpired } from '../../src/jobs/expiry.ts';
import { WebhookReceiver } from '../../src/testing/webhook-receiver.ts';
import { HOUR } from '../support/clock.ts';
import { dumpDatabase, tablesWith } from '../support/dump.ts';
import { request } from '../support/http.ts';
import { LoginBrowser, newAddress } from '../support/login-browser.ts';
import { LoginFixture } from '../support/login-fixture.ts';
import { waitTurns } from '../support/races.ts';
import {
  adminClient,
  clientsOf,
  createLoginIntent,
  createTenant,
  createTestUser,
  createTestWebhook,
  logIn,
  type Tenant,
} from '../support/service.ts';
import { quickOrLong } from '../support/soak.ts';
import { Wallet } from '../support/wallet.ts';

/** In the short form, as many as there are instants at which an erasure comes. */
const ROUNDS = quickOrLong(6, 200);
const MAX_ANSWER_MS = 100;

/** Tables that may keep the ID of an erased user. */
const MAY_KEEP_THE_ID = [
  'audit_events',
  'login_intents',
  'pg_statistic',
  'pg_stats',
  'session_cutoffs',
  'session_ids',
  'unfinished_changes',
  'user_cutoffs',
  'users',
  'webhook_attempts',
  'webhook_messages',
  'webhooks',
];

/** What anybody may type at the login page, at any time, and what expires within the half hour of a login. */
const OF_OPEN_LOGINS = ['login_codes', 'wallet_challenges'];

const receiver = await WebhookReceiver.open();
/** Echoes messages, some of them only after an erasure has come. */
receiver.respond = async ({ body }, response) => {
  await sleep(Math.random() * MAX_ANSWER_MS);
  response.end(body);
};
const fixture = await LoginFixture.open({
  config: {
    webhookDelivery: true,
    webhookAllowedNetworks: ['127.0.0.0/8'],
    // An attempt that fails on a busy machine is made again at once.
    webhookRetrySchedule: [0, 0, 0, 0],
    databaseConnections: 8,
  },
});
const { service, tenant } = fixture;
const admin = adminClient(service);
const { sql } = service.database;
const signUpTenant = await createTenant(service);
await admin.updateApplication({ applicationId: signUpTenant.id, allowSignUp: true });
const newTenant = await createTenant(service);
const sharedTenant = await createTenant(service);
await admin.updateApplication({ applicationId: sharedTenant.id, singleSignOn: true });
for (const each of [tenant, newTenant]) {
  const { webhookId } = await createTestWebhook(service, each, { url: receiver.url });
  await clientsOf(service, each).webhooks.updateWebhook({ webhookId, eventTypes: ['*'] });
}
// So that erasures come while other statements are half-way.
await sql.unsafe(`
  create function pause() returns trigger language plpgsql as $$
    begin perform pg_sleep(random() * 0.02); return new; end $$;
  create trigger pause before insert or update on sessions for each row execute function pause();
  create trigger pause before insert or update on known_origins for each row execute function pause();
  create trigger pause before insert on login_codes for each row execute function pause();
  create trigger pause before update on users for each row execute function pause()`);

afterAll(async () => {
  await fixture.close();
  await receiver[Symbol.asyncDispose]();
});

const left: string[] = [];
const ids: string[] = [];

test('leaves nothing of the person in any table', { timeout: quickOrLong(240_000, 1_800_000) }, async () => {
  for (let round = 0; round < ROUNDS; round++) {
    const person = await createPerson();
    const acts = await prepareActs(person);
    if (round === ROUNDS - 1) await sql`analyze`;
    const erasure = (async () => {
      await waitTurns((round % 6) * 3);
      await admin.eraseUser({ userId: person.id });
    })();
    await Promise.all([erasure, ...acts.map((act) => act())]);
    await eraseSuccessors(person.email);
    left.push(...person.traces);
    ids.push(person.id);
    const found = async () => {
      const tables = tablesWith(await dumpDatabase(service.database), person.traces);
      return tables.filter((table) => !OF_OPEN_LOGINS.includes(table));
    };
    const atOnce = (await found()).filter((table) => !['audit_events', 'webhook_attempts'].includes(table));
    expect(atOnce, `round ${round}`).toEqual([]);
    // What an endpoint is answering, and a refusal that was answered, are removed as soon as they are stored.
    await expect.poll(found).toEqual([]);
  }

  const database = new Database(service.database.url, { connections: 1, statementTimeoutMs: 60_000 });
  await removeExpired(database, { now: new Date(fixture.clock.read().getTime() + HOUR), webhookLogDays: 3 });
  await database.close();
  const dump = await dumpDatabase(service.database);
  expect(tablesWith(dump, left)).toEqual([]);
  for (const table of tablesWith(dump, ids)) expect(MAY_KEEP_THE_ID).toContain(table);
});

test('removes what a call has half stored when the erasure comes', async () => {
  // Whatever sleeps from now on waits at the gate.
  await sql.unsafe(`
    drop function pause cascade;
    create table gate (closed text);
    create function wait_at_gate() returns trigger language plpgsql as $$
      begin while exists (select from gate where closed = tg_table_name) loop perform pg_sleep(0.01); end loop;
      return new; end $$;
    create trigger gate before insert on sessions for each row execute function wait_at_gate();
    create trigger gate before insert on known_origins for each row execute function wait_at_gate();
    create trigger gate before insert on login_codes for each row execute function wait_at_gate();
    create trigger gate before update on login_intents for each row when (old.completed_at is null)
      execute function wait_at_gate()`);
  const locked = () => sql`
    select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
  const waiters = () => sql`
    select from pg_stat_activity where datname = current_database() and wait_event = 'PgSleep'`;
  /** Each returns a call up to its last step, which stops at the gate of the table. */
  const acts: readonly (readonly [table: string, prepare: (by: Login) => Promise<() => Promise<unknown>>])[] = [
    [
      'sessions',
      async ({ person }) => {
        const token = await logIn(service, newTenant, person);
        return () => exchangeAs(person, token, newTenant);
      },
    ],
    ...['known_origins', 'login_intents'].map(
      (table) =>
        [
          table,
          async (by: Login) => {
            const asked = await fixture.askForCode(by);
            return () => asked.enter(asked.code);
          },
        ] as const,
    ),
    [
      'login_codes',
      async ({ browser, user }) => {
        const { page } = await fixture.arrive({ browser });
        return () => browser.submit(page, '/login/email', { email: user.email });
      },
    ],
    [
      'login_intents',
      async ({ browser, person: { wallet } }) => {
        const asked = await fixture.askForMessage(wallet.address, { browser });
        return () => asked.send(wallet.sign(asked.message));
      },
    ],
    [
      'login_intents',
      async (by) => {
        const asked = await fixture.askForCode({ ...by, of: sharedTenant });
        await asked.enter(asked.code);
        const { page } = await fixture.arrive({ of: sharedTenant, browser: by.browser });
        return () => by.browser.submit(page, '/login/continue');
      },
    ],
    [
      'login_intents',
      async ({ person: { id: userId, address: ipAddress, userAgent } }) => {
        const loginIntentId = await createLoginIntent(service, tenant);
        return () => admin.completeLogin({ loginIntentId, userId, ipAddress, userAgent });
      },
    ],
  ];
  for (const [act, [table, prepare]] of acts.entries()) {
    const person = await createPerson();
    const { address, userAgent } = person;
    const run = await prepare({
      person,
      browser: new LoginBrowser(service, { address, userAgent }),
      user: asUser(person),
    });
    await sql`insert into gate values (${table})`;
    const acted = run();
    await expect.poll(waiters).not.toEqual([]);
    let isErased = false;
    const erased = admin.eraseUser({ userId: person.id }).then(() => {
      isErased = true;
    });
    // It waits for a call that has changed the user.
    await expect.poll(async () => isErased || (await locked()).length > 0).toBe(true);
    await sql`delete from gate`;
    await Promise.all([acted, erased]);
    const find = async (texts: string[]) => tablesWith(await dumpDatabase(service.database), texts);
    await expect.poll(() => find(person.traces), { message: `act ${act}` }).toEqual([]);
    for (const table of await find([person.id])) expect(MAY_KEEP_THE_ID, `act ${act}`).toContain(table);
  }
});

/** Returns a user who has signed in, and all texts by which the person may be found. */
async function createPerson() {
  const mark = randomBytes(8).toString('hex');
  const [address, userAgent, wallet] = [newAddress(), `agent-${mark}`, new Wallet()];
  const email = `${mark}@example.com`;
  const profile = {
    email,
    name: `Ada ${mark}`,
    profileImage: `https://img.test/${mark}`,
    walletAddress: wallet.address,
  };
  const user = { ...(await createTestUser(service, profile)), email };
  const subjects = [email, foldEmail(email), address, mark, wallet.address];
  const hashes = ['', 'login codes: '].flatMap((prefix) =>
    subjects.map((subject) => hash('sha256', `${prefix}${subject}`, 'hex')),
  );
  return { ...user, email, address, userAgent, wallet, traces: [mark, address, wallet.address, ...hashes] };
}

type Person = Awaited<ReturnType<typeof createPerson>>;

/** Who acts, and in which browser. */
interface Login {
  readonly person: Person;
  readonly browser: LoginBrowser;
  readonly user: ReturnType<typeof asUser>;
}

const asUser = (person: Person) => ({
  ...person,
  walletAddress: person.wallet.address,
  name: person.name,
  profileImage: person.profileImage,
});

function exchangeAs({ address, userAgent }: Person, authToken: string, { apiKey }: Tenant) {
  return request(service.url, {
    method: 'POST',
    path: '/api/oauth/exchange',
    headers: { 'x-api-key': apiKey, 'x-forwarded-for': address, 'user-agent': userAgent },
    body: JSON.stringify({ authToken }),
  });
}

/** Returns calls, each up to its last step, after some that have been made. */
async function prepareActs(person: Person): Promise<(() => Promise<unknown>)[]> {
  const { id: userId, email, address, userAgent, wallet } = person;
  const user = asUser(person);
  const browser = () => new LoginBrowser(service, { address, userAgent });
  const exchange = (authToken: string, of = tenant) => exchangeAs(person, authToken, of);
  const before = await fixture.askForCode({ browser: browser(), user });
  await before.enter(before.code);
  const { data } = JSON.parse((await exchange(await logIn(service, tenant, person))).body);
  const sessionId: string = data.session.id;
  // The endpoint has echoed the message of the sign-in.
  await expect.poll(() => sql`select from webhook_attempts where user_id = ${userId}`).not.toHaveLength(0);

  const byCode = await fixture.askForCode({ browser: browser(), user });
  const byWallet = await fixture.askForMessage(wallet.address, { browser: browser() });
  const signingUp = await fixture.askForCode({ of: signUpTenant, browser: browser(), user });
  const asking = await fixture.arrive({ browser: browser() });
  const tokens = [
    { of: tenant, token: await logIn(service, tenant, person) },
    { of: newTenant, token: await logIn(service, newTenant, person) },
    { of: signUpTenant, token: await logIn(service, signUpTenant, person) },
  ];
  const { sessions, users } = clientsOf(service, tenant);
  await sql`
    update sessions set created_at = created_at - interval '10 minutes', expires_at = expires_at - interval '10 minutes'
    where id = ${sessionId}`;
  const acts = [
    ...tokens.map(
      ({ of, token }) =>
        () =>
          exchange(token, of),
    ),
    () => byCode.enter(byCode.code),
    () => byWallet.send(wallet.sign(byWallet.message)),
    () => signingUp.enter(signingUp.code),
    () => asking.browser.submit(asking.page, '/login/email', { email }),
    () => admin.updateUser({ userId, name: `Countess ${email}` }),
    () => sessions.renewSession({ sessionId }),
    () => sessions.revokeUserSessions({ userId }),
    () => sessions.checkSession({ sessionId, maxStalenessMs: 0 }),
    () => users.getUser({ userId }),
  ];
  // What an erasure has come before is refused.
  return acts.map((act) => () => Promise.resolve(act()).catch(() => undefined));
}

/** Erases whoever has signed up with the address since. */
async function eraseSuccessors(email: string): Promise<void> {
  for (const { id } of (await admin.listUsers({ email })).users) await admin.eraseUser({ userId: id });
}
