/** Neither the time of a reply nor the work after it tells whether an e-mail address is known. */
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { afterAll, expect, it } from 'vitest';
import { createMailSender } from '../../src/mail/send-mail.ts';
import { request } from '../support/http.ts';
import { formOf, LOGIN_CONFIG, type LoginBrowser, newAddress } from '../support/login-browser.ts';
import { type Arrived, LoginFixture } from '../support/login-fixture.ts';
import { adminClient, createTenant, startTestService } from '../support/service.ts';
import { quickOrLong, report } from '../support/soak.ts';
import { StatementExplainer } from '../support/statement-explainer.ts';
import { createTestMail } from '../support/test-mail.ts';
import { type Kind, measureArea } from '../support/timing-comparison.ts';

/** How long the mail server takes. */
const DELIVERY_MS = 10;
const SAMPLES = 2_000;
/** More than five standard errors of an area of 0.5 (Mann-Whitney). One more query makes it about 0.9. */
const BAND = 0.05;
/** Enough for the test to use no address twice. */
const USERS = quickOrLong(20, 20_000);

const fixture = await LoginFixture.open();
const { database, config } = fixture.service;
await database.sql`
  insert into users (id, email, wallet_address, created_at)
  select gen_random_uuid(), 'known-' || n || '@example.com', 'wallet ' || n, now() from generate_series(0, ${USERS}) n`;
// Half of them have an authenticator app, also of those with odd numbers: known and unknown addresses may take turns.
await database.sql`
  insert into totp_secrets (user_id, id, sealed, last_step, created_at)
  select id, gen_random_uuid(), '', 0, now() from users where substr(wallet_address, 8)::integer % 4 < 2`;
await database.sql`update users set has_second_factor = true where id in (select user_id from totp_secrets)`;
const service = await startTestService({
  database,
  like: config,
  clock: fixture.clock.read,
  config: LOGIN_CONFIG,
  sendMail: async (mail, attempt) => {
    await sleep(DELIVERY_MS);
    await fixture.mailbox.sendMail(mail, attempt);
  },
});
afterAll(async () => {
  await service.close();
  await fixture.close();
});

/** Lets addresses of another domain sign up. */
const screened = await createTenant(service);
const admin = adminClient(service);
await admin.updateApplication({ applicationId: screened.id, allowSignUp: true, signUpEmailDomains: ['other.example'] });

let used = 0;
const nextKnown = () => `known-${++used % USERS}@example.com`;
const nextUnknown = () => `other-${++used % USERS}@example.com`;

async function post(browser: LoginBrowser, path: string, fields: Record<string, string>): Promise<string> {
  const { status, headers } = await request(service.url, {
    method: 'POST',
    path,
    headers: {
      cookie: browser.cookie ?? '',
      'content-type': 'application/x-www-form-urlencoded',
      'x-forwarded-for': newAddress(),
    },
    body: new URLSearchParams(fields).toString(),
  });
  expect(status).toBe(303);
  return headers.location ?? '';
}

/** Requests a code for one address after the other. */
function requestCodes({ browser, page }: Arrived, nextEmail: () => string): Kind {
  const { fields } = formOf(page, '/login/email');
  return async () => {
    const email = nextEmail();
    return async () => expect(await post(browser, '/login/email', { ...fields, email })).not.toContain('problem');
  };
}

/** Submits wrong codes, four for each address, so that none is the last attempt. */
function submitWrongCodes({ browser, page }: Arrived, nextEmail: () => string): Kind {
  const { fields } = formOf(page, '/login/email');
  let guesses = 0;
  return async () => {
    fixture.clock.advance(1);
    if (guesses++ % 4 === 0) await post(browser, '/login/email', { ...fields, email: nextEmail() });
    return async () =>
      expect(await post(browser, '/login/code', { ...fields, code: '000000x' })).toContain('WRONG_CODE');
  };
}

const ATTEMPTS = [
  { what: 'a request for a code', kind: requestCodes },
  { what: 'a wrong code', kind: submitWrongCodes },
];

/** Returns calls for known addresses, and for unknown ones. */
async function bothOf(kind: typeof requestCodes, of = fixture.tenant): Promise<[Kind, Kind]> {
  const arrive = () => fixture.arrive({ at: service, of });
  return [kind(await arrive(), nextKnown), kind(await arrive(), nextUnknown)];
}

const APPLICATIONS = [
  { where: 'without sign-up', of: fixture.tenant },
  { where: 'with sign-up for other domains', of: screened },
];

it.for(ATTEMPTS.flatMap((attempt) => APPLICATIONS.map((application) => ({ ...attempt, ...application }))))(
  '$what $where runs the same statements for a known address and for an unknown one',
  async ({ kind, of }) => {
    const statementsOf = async (prepare: Kind) => {
      const call = await prepare();
      using explainer = new StatementExplainer(service.database, { modes: [] });
      await call();
      // The jobs that expire rows and finish changes may run at any time.
      // Those that run at the same time have no order.
      return explainer.explained
        .map(({ name }) => name)
        .filter((name) => !/batch|expiry_mark|^delete_sessions$|^select_unfinished_changes$/.test(name))
        .sort();
    };
    const [known, unknown] = await bothOf(kind, of);
    const statements = await statementsOf(known);
    expect(statements).not.toEqual([]);
    expect(await statementsOf(unknown)).toEqual(statements);
  },
);

it.runIf(quickOrLong(false, true)).for(ATTEMPTS)(
  'the time of $what does not tell a known address from an unknown one',
  async ({ what, kind }, context) => {
    const area = await measureArea(await bothOf(kind), { count: SAMPLES });
    const figures = `AUC ${area.toFixed(3)}`;
    report(context, { tried: `${what}: ${SAMPLES} known and ${SAMPLES} unknown addresses, interleaved`, figures });
    expect(Math.abs(area - 0.5), figures).toBeLessThanOrEqual(BAND);
  },
);

// What an e-mail and a decoy do at the mail server: test/integration/mail/mail-queue.test.ts.
it.runIf(quickOrLong(false, true))('an e-mail and a decoy cost about the same work', async (context) => {
  const mailServer = new Worker(new URL('../support/mail-thread.ts', import.meta.url));
  const [url] = await once(mailServer, 'message');
  const sender = createMailSender({ url, from: 'login@usher.test' });
  const spentUs = { email: 0, decoy: 0 };
  for (let round = 0; round < 300; round++) {
    for (const kind of ['email', 'decoy'] as const) {
      const before = process.threadCpuUsage();
      const isDecoy = kind === 'decoy';
      await sender.send(createTestMail(), { id: `${round}`, isDecoy, deadline: Number.POSITIVE_INFINITY });
      const { user, system } = process.threadCpuUsage(before);
      spentUs[kind] += user + system;
    }
  }
  sender.close?.();
  await mailServer.terminate();
  const ratio = spentUs.decoy / spentUs.email;
  report(context, { tried: 'e-mails and decoys, interleaved', figures: `ratio of CPU ${ratio.toFixed(2)}` });
  // A decoy leaves out the end of an e-mail. Without decoys the ratio is near 0.
  expect(ratio).toBeGreaterThan(1 / 3);
  expect(ratio).toBeLessThan(3);
});
