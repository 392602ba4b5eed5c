/** Devices that sign in at two replicas: races, and guesses of user codes. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { TestClock } from '../support/clock.ts';
import { beginDevice, type Device, poll } from '../support/device-client.ts';
import { LOGIN_CONFIG, LoginBrowser } from '../support/login-browser.ts';
import { createRsaJwk } from '../support/oidc.ts';
import { adminClient, createTenant, createTestUser, startTestService, type Tenant } from '../support/service.ts';
import { quickOrLong, report } from '../support/soak.ts';

const RACES = quickOrLong(6, 200);
const GUESSES = quickOrLong(800, 100_000);
/** Each network has ten. */
const GUESSES_OF_NETWORK = 20;
/** The guesses that are sent at once. */
const AT_ONCE = 20;

const clock = new TestClock();
const service = await startTestService({ clock: clock.read, oidcSigningKeys: [createRsaJwk()], config: LOGIN_CONFIG });
const replica = await startTestService({ database: service.database, like: service.config, clock: clock.read });
const replicas = [service, replica];
let tenant: Tenant;
let user: { id: string };

beforeAll(async () => {
  tenant = await createTenant(service, { openIdConnect: true, deviceLogin: true });
  user = await createTestUser(service);
});
afterAll(async () => {
  await replica.close();
  await service.close();
});

/** Begins a device whose login is completed, and returns how browsers at both replicas decide. */
async function beginCompleted(): Promise<{
  device: Device;
  decide: (at: number, decision: string) => Promise<unknown>;
}> {
  const device = await beginDevice(service, tenant);
  const [login] = await service.database.sql`
    select id from usher.login_intents where response_mode = 'device' and completed_at is null and approved is null`;
  const { redirectUrl } = await adminClient(service).completeLogin({ loginIntentId: login?.id, userId: user.id });
  const { pathname, search } = new URL(redirectUrl);
  const pages = await Promise.all(
    replicas.map(async (at) => {
      const browser = new LoginBrowser(at);
      return { browser, page: await browser.open(pathname + search) };
    }),
  );
  const decide = async (at: number, decision: string) => {
    const { browser, page } = pages[at] ?? {};
    return browser?.post('/device/approve', { ...page?.forms[0]?.fields, decision });
  };
  return { device, decide };
}

test(`of ${RACES} devices that are allowed and denied at once, each is one of the two for good`, async (context) => {
  const found = new Set<string>();
  for (let race = 0; race < RACES; race++) {
    const { device, decide } = await beginCompleted();
    const inTurn = race % 2 ? [0, 1] : [1, 0];
    const answers: string[] = [];
    const ask = async () => {
      const { status, body } = await poll(replicas[race % 2] ?? service, tenant, device);
      answers.push(status === 200 ? 'tokens' : (body.error ?? ''));
    };
    await Promise.all(inTurn.map((at) => decide(at, at === 0 ? 'allow' : 'deny')));
    await ask();
    await decide(0, 'deny');
    await decide(1, 'allow');
    await ask();
    expect([
      ['tokens', 'invalid_grant'],
      ['access_denied', 'access_denied'],
    ]).toContainEqual(answers);
    found.add(answers[0] ?? '');
  }
  report(context, { tried: `${RACES} times Allow and Deny at once`, figures: [...found].join(', ') });
});

test(`of ${RACES} devices that ask twenty times at once, each gets tokens once`, async () => {
  for (let race = 0; race < RACES; race++) {
    const { device, decide } = await beginCompleted();
    await decide(0, 'allow');
    const replies = await Promise.all(
      Array.from({ length: 20 }, (_, at) => poll(replicas[at % 2] ?? service, tenant, device)),
    );
    expect(replies.map(({ status, body }) => body.error ?? status).sort()).toEqual([
      200,
      ...Array<string>(19).fill('invalid_grant'),
    ]);
  }
});

test('of questions at once on two replicas one is in time, and each other one makes the device wait 5 seconds longer', async () => {
  const device = await beginDevice(service, tenant);
  const replies = await Promise.all(
    Array.from({ length: 10 }, (_, at) => poll(replicas[at % 2] ?? service, tenant, device)),
  );
  const errors = replies.map(({ body }) => body.error).sort();
  expect(errors).toEqual(['authorization_pending', ...Array<string>(9).fill('slow_down')]);
  const [row] = await service.database.sql`
    select poll_seconds from usher.login_intents where response_mode = 'device' and completed_at is null order by created_at desc limit 1`;
  expect(row?.poll_seconds).toBe(5 + 9 * 5);
});

/** Memory that a full collection leaves, in bytes. */
function heapLeft(): number {
  globalThis.gc?.();
  return process.memoryUsage().heapUsed;
}

test(`of ${GUESSES} guesses of user codes none is right, and half are refused without a look at the codes`, async (context) => {
  for (let at = 0; at < quickOrLong(20, 100); at++) await beginDevice(service, tenant);
  const networks = Array.from({ length: GUESSES / GUESSES_OF_NETWORK }, (_, at) => `10.${at >> 8}.${at & 255}.1`);
  const outcomes = new Map<string, number>();
  const before = heapLeft();
  const countBuckets = async () => {
    const [buckets] = await service.database.sql`
      select count(*)::integer as count, pg_total_relation_size('usher.rate_limits') as bytes from usher.rate_limits`;
    return { count: Number(buckets?.count), bytes: Number(buckets?.bytes) };
  };
  const others = await countBuckets();
  const guess = async (address: string, at: number) => {
    const browser = new LoginBrowser(replicas[at % 2] ?? service, { address });
    const { fields } = (await browser.open('/device')).forms[0] ?? {};
    for (let count = 0; count < GUESSES_OF_NETWORK; count++) {
      const page = await browser.post('/device', { ...fields, user_code: randomCode() });
      const outcome = page.status === 429 ? 'refused' : page.alert ? 'wrong' : page.heading;
      outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
    }
  };
  for (let at = 0; at < networks.length; at += AT_ONCE)
    await Promise.all(networks.slice(at, at + AT_ONCE).map((address, offset) => guess(address, at + offset)));
  expect(Object.fromEntries(outcomes)).toEqual({ wrong: GUESSES / 2, refused: GUESSES / 2 });
  const buckets = await countBuckets();
  const kept = `${Math.round((heapLeft() - before) / 1_024)} KiB of heap, ${Math.round(buckets.bytes / 1_024)} KiB of rows`;
  report(context, { tried: `${GUESSES} user codes guessed from ${networks.length} networks`, figures: kept });
  // A row for each network and each site, whatever the number of guesses.
  expect(buckets.count - others.count).toBeLessThanOrEqual(2 * networks.length);
});

function randomCode(): string {
  const letters = 'BCDFGHJKLMNPQRSTVWXZ';
  return Array.from({ length: 8 }, () => letters[Math.floor(Math.random() * letters.length)]).join('');
}
