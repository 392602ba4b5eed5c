/** Passkeys on two replicas, while others add and remove them, sign in with them, or end their user. */
import { afterAll, expect, test } from 'vitest';
import { formOf, type LoginPage } from '../support/login-browser.ts';
import { type Arrived, LoginFixture } from '../support/login-fixture.ts';
import { SoftwarePasskey } from '../support/passkey.ts';
import { askedAtSignIn, askedForNew, savePasskey, TO_PASSKEYS } from '../support/passkey-page.ts';
import { waitForSome, waitTurns } from '../support/races.ts';
import {
  adminClient,
  clientsOf,
  createTestUser,
  PUBLIC_URL,
  type TestService,
  type TestUser,
} from '../support/service.ts';
import { quickOrLong } from '../support/soak.ts';

const CALLERS = 6;
const MOST = 10;
const UNKNOWN = 'This passkey is not known any more.';

const config = { loginMethods: ['wallet', 'email', 'passkey'] } as const;
const fixture = await LoginFixture.open({ config });
const replica = await fixture.startReplica(config);
afterAll(async () => {
  await replica.close();
  await fixture.close();
});

const rounds = quickOrLong(12, 300);
const timeout = 3_600_000;

/** Browsers with so many passkeys each add several at once: never more than ten stay, and each that was said to. */
test('a user who adds several at once never has more than ten, and has those that were added', {
  timeout,
}, async () => {
  const counts = { added: 0, refused: 0 };
  for (let round = 0; round < rounds; round++) {
    const before = MOST - 1 - (round % 4);
    const list = await openList();
    await fill(list.user, before);
    const replies = await race(0, (at) => add(list, at));
    const added = replies.filter(({ alert }) => alert === '').length;
    const stored = await countPasskeys(list.user);
    expect(stored, `round ${round}`).toBe(before + added);
    expect(stored, `round ${round}`).toBeLessThanOrEqual(MOST);
    counts.added += added;
    counts.refused += CALLERS - added;
  }
  expect(counts).toEqual({ added: expect.toSatisfy(isSome), refused: expect.toSatisfy(isSome) });
});

/** Removes a passkey from several places while others sign in with it: it goes once, and is unknown from then on. */
test('a passkey that is removed while it is used is unknown once that has answered', { timeout }, async () => {
  const counts = { signedIn: 0, refused: 0 };
  const admin = adminClient(fixture.service);
  for (let round = 0; round < rounds; round++) {
    const { user, passkey } = await createOwner();
    const [{ passkeyId } = { passkeyId: '' }] = (await admin.listPasskeys({ userId: user.id })).passkeys;
    const arrived = await arriveEverywhere();
    const signIns = arrived.map((each, caller) => signIn(each, passkey, caller));
    await waitForSome(signIns, round % 4);
    const removals = race(round + 1, (at) =>
      adminClient(at)
        .deletePasskey({ userId: user.id, passkeyId })
        .then(
          () => 'removed',
          ({ rawMessage }) => rawMessage,
        ),
    );
    const answers = (await removals).sort();
    expect(answers, `round ${round}`).toEqual([...Array(CALLERS - 1).fill('Passkey not found'), 'removed']);
    for (const late of await arriveEverywhere(2)) {
      const reply = await signIn(late, passkey, round);
      expect(reply.alert, `round ${round}`).toContain(UNKNOWN);
    }
    for (const { location, alert } of await Promise.all(signIns)) {
      if (!location) expect(alert, `round ${round}`).toContain(UNKNOWN);
      counts[location ? 'signedIn' : 'refused']++;
    }
  }
  expect(counts).toEqual({ signedIn: expect.toSatisfy(isSome), refused: expect.toSatisfy(isSome) });
});

/** Sends one answer of a passkey several times at once, also from another browser: one sign-in, which is audited once. */
test('an answer that is sent several times, also by others, signs in once', { timeout }, async () => {
  const { sql } = fixture.service.database;
  const { user, passkey } = await createOwner();
  for (let round = 0; round < rounds; round++) {
    const [arrived, thief] = await arriveEverywhere(2);
    if (!arrived || !thief) throw new Error('Nobody arrived');
    passkey.signCount++;
    const credential = passkey.answer(askedAtSignIn(arrived.page, PUBLIC_URL));
    const send = (by: Arrived, at: TestService) => {
      const fields = { ...formOf(by.page, '/login/passkey').fields, intent: arrived.login.loginIntentId, credential };
      return by.browser.at(at).post('/login/passkey', fields);
    };
    const stolen = race(round + 2, (at) => send(thief, at));
    const replies = await race(round, (at) => send(arrived, at));
    expect(new Set(replies.map(({ location }) => location)).size, `round ${round}`).toBe(1);
    expect(replies[0]?.location, `round ${round}`).toContain('authToken=');
    for (const reply of await stolen) expect(reply.location, `round ${round}`).toBeUndefined();
    const [{ id } = { id: '' }] = await sql`
      select user_id as id from login_intents where id = ${arrived.login.loginIntentId} and method = 'passkey'`;
    expect(id, `round ${round}`).toBe(user.id);
  }
  const events = await sql`
    select from audit_events where action = 'POST /login/passkey' and resource = ${user.id}`;
  expect(events).toHaveLength(rounds);
  expect(await sql`select sign_count from passkeys where user_id = ${user.id}`).toEqual([
    { sign_count: String(rounds) },
  ]);
});

/** Ends users while they add passkeys and sign in with them: nothing of either is left, and none begins later. */
test('a user who is ended during sign-ins and additions has no session, and no passkey if deleted', {
  timeout,
}, async () => {
  const { service, tenant } = fixture;
  const { sql } = service.database;
  const admin = adminClient(service);
  const ends = ['eraseUser', 'deleteUser', 'deactivateUser'] as const;
  const counts = { added: 0, notAdded: 0, signedIn: 0, notSignedIn: 0 };
  for (let round = 0; round < rounds; round++) {
    const { user, passkey, ...list } = await createOwner();
    const arrived = await arriveEverywhere();
    fixture.clock.advance(1);
    const additions = race(round, (at) => add(list, at));
    const signIns = arrived.map(async (each, caller) => {
      const { location } = await signIn(each, passkey, caller);
      const authToken = location && new URL(location).searchParams.get('authToken');
      const at = caller % 2 === 0 ? replica : service;
      if (authToken)
        await clientsOf(at, tenant)
          .auth.exchangeToken({ authToken })
          .catch(() => {});
      return authToken;
    });
    const end = ends[round % ends.length] ?? 'eraseUser';
    await waitForSome(signIns, round % 4);
    await admin[end]({ userId: user.id });
    const tokens = await Promise.all(signIns);
    for (const { heading, alert, location } of await additions)
      counts[heading === 'Your passkeys' && alert === '' && !location ? 'added' : 'notAdded']++;
    for (const token of tokens) counts[token ? 'signedIn' : 'notSignedIn']++;
    const title = `round ${round}, ${end}`;
    for (const token of tokens) {
      const again = token && clientsOf(replica, tenant).auth.exchangeToken({ authToken: token });
      if (again) await expect(again, title).rejects.toThrow(/Invalid or expired token|User not found/);
    }
    expect(await sql`select from sessions where user_id = ${user.id} and expires_at > now()`, title).toEqual([]);
    const passkeys = await countPasskeys(user);
    if (end === 'deactivateUser') expect(passkeys, title).toBeLessThanOrEqual(MOST);
    else expect(passkeys, title).toBe(0);
    for (const late of await arriveEverywhere(2)) {
      expect((await signIn(late, passkey, 0)).alert, title).toContain(UNKNOWN);
    }
    for (const at of [service, replica]) await add(list, at);
    expect(await countPasskeys(user), title).toBe(passkeys);
    const origins = await sql`select from known_origins where user_id = ${user.id}`;
    if (end === 'eraseUser') expect(origins, title).toEqual([]);
  }
  for (const [what, count] of Object.entries(counts)) expect(count, what).toBeGreaterThan(0);
});

/** Runs the call on both replicas, from so many callers that begin shortly after one another. */
function race<Result>(round: number, call: (at: TestService) => Promise<Result>): Promise<Result[]> {
  const callers = Array.from({ length: CALLERS }, async (_, caller) => {
    await waitTurns((caller * (round % 5)) % 8);
    return call(caller % 2 === 0 ? fixture.service : replica);
  });
  return Promise.all(callers);
}

/** Returns browsers on the page where a person chooses how to sign in. */
function arriveEverywhere(count = CALLERS): Promise<Arrived[]> {
  return Promise.all(Array.from({ length: count }, () => fixture.arrive()));
}

async function signIn({ browser, page }: Arrived, passkey: SoftwarePasskey, caller: number): Promise<LoginPage> {
  const credential = passkey.answer(askedAtSignIn(page, PUBLIC_URL));
  await waitTurns(caller);
  return browser.at(caller % 2 === 0 ? fixture.service : replica).submit(page, '/login/passkey', {
    credential,
  });
}

async function openList() {
  const user = await createTestUser(fixture.service);
  const { browser, codePage, code } = await fixture.askForCode({ user });
  const page = await browser.submit(codePage, '/login/code', { code, ...TO_PASSKEYS });
  return { user, browser, page };
}

async function createOwner() {
  const list = await openList();
  const passkey = new SoftwarePasskey();
  await savePasskey(list, passkey, PUBLIC_URL);
  return { ...list, passkey };
}

/** Answers what the list has asked a new passkey for. */
function add({ browser, page }: Pick<Arrived, 'browser' | 'page'>, at: TestService): Promise<LoginPage> {
  const credential = new SoftwarePasskey().create(askedForNew(page, PUBLIC_URL));
  return browser.at(at).submit(page, '/login/passkey/new', { credential });
}

async function countPasskeys({ id }: Pick<TestUser, 'id'>): Promise<number> {
  return (await fixture.service.database.sql`select from passkeys where user_id = ${id}`).length;
}

/** Stores so many other passkeys of the user. */
async function fill({ id }: Pick<TestUser, 'id'>, count: number): Promise<void> {
  await fixture.service.database.sql`
    insert into passkeys (user_id, id, credential_id, rp_id, public_key, sign_count, transports, aaguid,
      is_backup_eligible, is_backed_up, is_user_verified, name, created_at)
    select ${id}, gen_random_uuid(), decode(md5(random()::text), 'hex'), ${new URL(PUBLIC_URL).hostname}, '', 0, '{}',
      gen_random_uuid(), false, false, false, 'Filler', now() from generate_series(1, ${count}::int)`;
}

function isSome(count: number): boolean {
  return count > 0;
}
