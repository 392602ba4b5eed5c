/** The links of the account page to the applications that a person may enter. */
import { afterAll, expect, it } from 'vitest';
import { beginSession, openAccount } from '../../../support/account-page.ts';
import type { LoginPage } from '../../../support/login-browser.ts';
import { LoginFixture } from '../../../support/login-fixture.ts';
import { restrict } from '../../../support/restricted-access.ts';
import { adminClient, createTenant, createTestUser } from '../../../support/service.ts';

const fixture = await LoginFixture.open();
const { service } = fixture;
const admin = adminClient(service);
afterAll(() => fixture.close());

/** Returns the addresses of the links by the names of the applications. */
function linksOf({ body }: LoginPage, section = 'applications'): Record<string, string> {
  const [, panel = ''] = new RegExp(`aria-labelledby="${section}">(.*?)</section>`, 's').exec(body) ?? [];
  return Object.fromEntries(
    [...panel.matchAll(/<a class="over" href="(.*?)"><bdi>(.*?)<\/bdi>/g)].map(([, uri, name]) => [name, uri]),
  );
}

async function createApplication(name: string, initiateLoginUri?: string) {
  const { id: applicationId } = await createTenant(service, { name });
  if (initiateLoginUri) await admin.updateApplication({ applicationId, initiateLoginUri });
  return restrict(service, applicationId);
}

it('lead to those that the person may enter and that say where a login starts, and to no other', async () => {
  const [tickets, shop, wiki] = [
    await createApplication('Tickets', 'https://tickets.test/login?a=1&b=2'),
    await createApplication('Shop', 'https://shop.test/login'),
    await createApplication('Wiki'),
  ];
  const [user, other] = [await createTestUser(service), await createTestUser(service)];
  await tickets.give(user.id, 'added');
  await shop.give(user.id, 'neither');
  await wiki.give(user.id, 'added');
  await shop.give(other.id, 'in a group');
  const { browser, page } = await openAccount(fixture, user);
  expect(linksOf(page)).toEqual({ Tickets: 'https://tickets.test/login?a=1&#38;b=2' });
  expect(linksOf((await openAccount(fixture, other)).page)).toEqual({ Shop: 'https://shop.test/login' });
  await shop.give(user.id, 'in a group');
  await tickets.take(user.id, 'added');
  expect(linksOf(await browser.open('/account'))).toEqual({ Shop: 'https://shop.test/login' });
});

it('lead back to one that everybody may enter once the person has signed in there, and say when that was', async () => {
  const { id: applicationId } = fixture.tenant;
  await admin.updateApplication({ applicationId, initiateLoginUri: 'https://start.test/login' });
  const user = await createTestUser(service);
  expect(linksOf((await openAccount(fixture, user)).page)).toEqual({});
  await beginSession(fixture, user);
  const { page } = await openAccount(fixture, user);
  expect(Object.values(linksOf(page))).toEqual(['https://start.test/login']);
  expect(page.body).toMatch(/start\.test<\/bdi> · last used/);
});

it('are also in the rows of where the person is signed in, until the person may not enter any more', async () => {
  const { id: applicationId, name } = fixture.tenant;
  const uri = 'https://start.test/login';
  await admin.updateApplication({ applicationId, initiateLoginUri: uri });
  const user = await createTestUser(service);
  await beginSession(fixture, user);
  const { browser, page } = await openAccount(fixture, user);
  expect(linksOf(page, 'where')).toEqual({ [name]: uri });
  await admin.updateApplication({ applicationId, updateMask: { paths: ['initiate_login_uri'] } });
  const without = await browser.open('/account');
  expect(without.body).toContain(name);
  expect(linksOf(without, 'where')).toEqual({});
  await admin.updateApplication({ applicationId, initiateLoginUri: uri });
  expect(linksOf(await browser.open('/account'))).toEqual({ [name]: uri });
  await restrict(service, applicationId);
  const refused = await browser.open('/account');
  expect([linksOf(refused, 'where'), linksOf(refused)]).toEqual([{}, {}]);
});
