/** Only addresses of certain domains become users. Users sign in with any address. */
import { randomUUID } from 'node:crypto';
import { rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { Database } from '../../../src/database/pool/database.ts';
import { BY_USHER, withAudit } from '../../../src/domain/audit/audit-event.ts';
import { signUp } from '../../../src/domain/login/sign-up.ts';
import { SignUpRules } from '../../../src/domain/login/sign-up-rules.ts';
import { AuthTokens } from '../../../src/domain/tokens/auth-tokens.ts';
import { LAYOUT } from '../../support/database.ts';
import { createDirectory } from '../../support/directory.ts';
import { FakeProvider } from '../../support/fake-provider.ts';
import { formOf, LoginBrowser } from '../../support/login-browser.ts';
import { LoginFixture } from '../../support/login-fixture.ts';
import { adminClient, createLoginIntent, createTenant, createTestUser, type Tenant } from '../../support/service.ts';
import { Wallet } from '../../support/wallet.ts';

const provider = await FakeProvider.start();
const path = join(await createDirectory(), 'blocked');
await writeFile(path, '# Nobody yet\n');
const fixture = await LoginFixture.open({
  start: new Date(),
  config: {
    loginMethods: ['wallet', 'email'],
    loginProviders: [provider.settings({ id: 'corp', name: 'Corp', trustEmail: true })],
    loginProviderIds: undefined,
    blockedEmailDomainsFile: path,
  },
});
const { service, mailbox } = fixture;
const blocking = await fixture.startReplica({
  ...service.config,
  blockedEmailDomains: ['old.example'],
  blockedEmailDomainsFile: undefined,
});
const admin = adminClient(service);
const { sql } = service.database;
const database = new Database(service.database.url, { connections: 1, layout: LAYOUT, statementTimeoutMs: 60_000 });
afterAll(async () => {
  await database.close();
  await blocking.close();
  await fixture.close();
  await provider.stop();
});

const setDomains = (of: Tenant, signUpEmailDomains: string[]) =>
  admin.updateApplication({
    applicationId: of.id,
    signUpEmailDomains,
    updateMask: { paths: ['sign_up_email_domains'] },
  });

/** Returns a new application where addresses of the domains may sign up. */
async function createOpen(domains: string[]): Promise<Tenant> {
  const created = await createTenant(service);
  await admin.updateApplication({ applicationId: created.id, allowSignUp: true });
  await setDomains(created, domains);
  return created;
}

/** An application for people of bücher.example. */
const tenant = await createOpen(['BÜCHER.example.']);
/** An application whose list changes while people sign up. */
const changing = await createOpen([]);

const usersWith = (email: string) => sql`select id from users where lower(email) = ${email.toLowerCase()}`;

/** Asks for a code, and returns the page that follows. */
async function ask(email: string, of = tenant) {
  const arrived = await fixture.arrive({ of });
  const codePage = await arrived.browser.submit(arrived.page, '/login/email', { email });
  expect(codePage).toMatchObject({ heading: 'Check your e-mail', alert: '' });
  const enter = (code = mailbox.codes.at(-1)?.code ?? '') => arrived.browser.submit(codePage, '/login/code', { code });
  return { ...arrived, codePage, enter };
}

/** Addresses of one domain, in the spellings that its name has. */
const spelled = (domain: string) => [
  `${randomUUID()}@${domain}`,
  `${randomUUID()}@${domain.toUpperCase()}`,
  `${randomUUID()}@${domain}.`,
  `${randomUUID()}@mail.${domain}`,
];

const newEmail = () => `${randomUUID()}@old.example`;

/** Runs the work, and returns the addresses that got codes meanwhile. */
async function codesDuring(work: () => Promise<unknown>) {
  const before = mailbox.codes.length;
  await work();
  // Decoys take the same way, so a code for a user that is asked for last comes after them.
  const user = await createTestUser(service);
  await ask(user.email);
  await expect.poll(() => mailbox.codes.slice(before).map(({ email }) => email)).toContain(user.email);
  return mailbox.codes.slice(before).flatMap(({ email }) => (email === user.email ? [] : [email]));
}

it.each([...spelled('bücher.example'), ...spelled('xn--bcher-kva.example')])('lets %s sign up', async (email) => {
  const { enter } = await ask(email);
  expect((await enter()).location).toContain('authToken=');
});

it.each([
  `${randomUUID()}@other.example`,
  `${randomUUID()}@notbücher.example`,
  `${randomUUID()}@bücher.example.org`,
  `${randomUUID()}@xn--bcher-kva.example@other.example`.replace(/@xn/, '.xn'),
  `${randomUUID()}@example`,
])('sends no code to %s, and shows the same page', async (email) => {
  const user = await createTestUser(service);
  const textOf = ({ body }: { body: string }) =>
    body.slice(body.indexOf('<h1>')).replaceAll(/(value|nonce)="[^"]*"/g, '');
  let page = '';
  expect(await codesDuring(async () => (page = textOf((await ask(email)).codePage)))).toEqual([]);
  expect(page.replaceAll(email, 'EMAIL')).toBe(
    textOf((await ask(user.email)).codePage).replaceAll(user.email, 'EMAIL'),
  );
});

it('lets a user of another domain sign in, and the calls of operators create one', async () => {
  const { user } = await admin.createUser({ email: `${randomUUID()}@other.example` });
  const { enter } = await ask(user?.email ?? '');
  expect((await enter()).location).toContain('authToken=');
});

it('says to everybody which addresses may sign up', async () => {
  const { page } = await fixture.arrive({ of: tenant });
  expect(page.body).toContain('New accounts: addresses of <bdi>bücher.example</bdi>');
  const many = await createOpen(Array.from({ length: 100 }, (_, index) => `d${index}.example`));
  const { page: long } = await fixture.arrive({ of: many });
  expect(long.body).toContain('<bdi>d4.example</bdi> …');
  expect(long.body).not.toContain('d5.example');
  await admin.updateApplication({ applicationId: many.id, allowSignUp: false });
  expect((await fixture.arrive({ of: many })).page.body).not.toContain('New accounts');
});

/** The moments at which a domain is refused: the list of the application changes, or another replica has blocked it. */
const REFUSALS = [
  { what: 'a domain that left the list', refuse: () => setDomains(changing, ['new.example']), at: service },
  { what: 'a blocked domain', refuse: async () => {}, at: blocking },
];

describe.each(REFUSALS)('$what', ({ refuse, at }) => {
  beforeEach(() => setDomains(changing, []));

  it('is refused at the code', async () => {
    const email = newEmail();
    const { browser, codePage } = await ask(email, changing);
    await refuse();
    const reply = await browser.at(at).submit(codePage, '/login/code', { code: mailbox.codeFor(email) });
    expect(reply.alert).toMatch(/^That is not the code/);
    expect(await usersWith(email)).toEqual([]);
  });

  it('is refused at the name', async () => {
    const email = newEmail();
    await admin.updateApplication({ applicationId: changing.id, askName: true });
    const { browser, enter } = await ask(email, changing);
    const namePage = await enter(mailbox.codeFor(email));
    await refuse();
    const reply = await browser.at(at).submit(namePage, '/login/name', { name: 'Ada' });
    await admin.updateApplication({ applicationId: changing.id, askName: false });
    expect(reply).toMatchObject({ location: undefined, alert: expect.stringContaining('code') });
    expect(await usersWith(email)).toEqual([]);
  });

  it('is refused after a wallet has signed', async () => {
    const wallet = new Wallet();
    const asked = await fixture.askForMessage(wallet.address, { of: changing });
    const linkPage = await asked.send(wallet.sign(asked.message));
    await refuse();
    const [email, browser] = [newEmail(), asked.browser.at(at)];
    expect(await codesDuring(() => browser.submit(linkPage, '/login/link', { email }))).toEqual([]);
  });

  it('is refused at a provider that is trusted with addresses', async () => {
    const { browser, page } = await fixture.arrive({ of: changing, browser: new LoginBrowser(at) });
    const { location } = await browser.post('/login/provider', { ...formOf(page, '/login/provider').fields });
    await refuse();
    const email = newEmail();
    const back = await browser.open(provider.signIn(location, { sub: randomUUID(), email, email_verified: true }));
    expect(back).toMatchObject({ location: undefined, alert: expect.stringContaining('account') });
    expect(await usersWith(email)).toEqual([]);
  });

  it('is refused by the statement that creates the user', async () => {
    await refuse();
    const blocked = at === blocking ? ['old.example'] : [];
    for (const email of spelled('old.example')) expect(await trySignUp(email, blocked)).toBeUndefined();
    await setDomains(changing, []);
    expect(await trySignUp(newEmail(), [])).toBeDefined();
  });
});

it('reads the file of blocked domains again when it changes', async () => {
  await setDomains(changing, []);
  await block('old.example');
  await block('other.example');
});

/** Blocks a domain, and waits until the process has read the file again. */
async function block(domain: string) {
  await writeFile(`${path}.new`, `# Throw-away addresses\n\n${domain} # as seen\n`);
  await rename(`${path}.new`, path);
  const isBlocked = domain === 'old.example';
  await expect.poll(async () => (await codesDuring(() => ask(newEmail(), changing))).length).toBe(isBlocked ? 0 : 1);
}

async function trySignUp(email: string, blocked: string[]) {
  const now = fixture.clock.read();
  const run = withAudit(database.within(Number.POSITIVE_INFINITY), { ...BY_USHER, action: 'test', now });
  const { authSigningKeys = [] } = service.config.secrets;
  const tokens = await AuthTokens.create('https://usher.test', authSigningKeys);
  const how = { method: 'email', ipAddress: '', userAgent: '', browserDigest: null, answerDigest: null } as const;
  const loginIntentId = await createLoginIntent(service, changing);
  const user = { email, name: null, walletAddress: '' };
  return await signUp({ run, now }, { tokens, signUps: new SignUpRules(blocked) }, loginIntentId, user, how);
}
