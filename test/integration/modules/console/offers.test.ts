/** What the pages offer to a role: nothing that it may not do. */
import { readFile, writeFile } from 'node:fs/promises';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { parseOperators } from '../../../../src/config/operators.ts';
import { RouteTable } from '../../../../src/http/route-table.ts';
import { findRoute, mayUse } from '../../../../src/modules/console/route.ts';
import { ROUTES } from '../../../../src/modules/console/routes.ts';
import type { SignedInOperator } from '../../../../src/modules/console/signed-in-operator.ts';
import { type ConsoleBrowser, ConsoleFixture, OPERATORS } from '../../../support/console-fixture.ts';
import { type ConsoleSamples, createConsoleSamples, fillPath } from '../../../support/console-samples.ts';
import { textOf } from '../../../support/login-browser.ts';
import { adminClient } from '../../../support/service.ts';

const TEAM = 'tim@example.com';
const RECOVERER = 'rita@example.com';

let fixture: ConsoleFixture;
let samples: ConsoleSamples;

beforeAll(async () => {
  fixture = await ConsoleFixture.open();
  samples = await createConsoleSamples(fixture);
  const { a, u } = samples.params;
  await adminClient(fixture.service).addApplicationUser({ applicationId: a, userId: u });
  const text = await readFile(fixture.operatorsFile, 'utf8');
  await writeFile(fixture.operatorsFile, `${text}${TEAM} team ${fixture.tenant.id}\n${RECOVERER} viewer recover\n`);
  await vi.waitFor(() => fixture.signIn(TEAM), { timeout: 30_000, interval: 200 });
});

afterAll(() => fixture.close());

const PAGES = ROUTES.filter(
  ({ method, role, path }) => method === 'GET' && role !== 'anyone' && !/(\.\w+|\/preview)$/.test(path),
).map(({ path }) => path);
/** What differs if only some people may sign in. */
const RESTRICTED = [
  '/applications/:a/users',
  '/applications/:a/users?everybody',
  '/applications/:a/groups',
  '/users/:u',
];

/** Returns the links and the forms that the operator can use, as methods with paths. */
async function collectOffers(browser: ConsoleBrowser, pages = PAGES): Promise<Set<string>> {
  const offers = new Set<string>();
  for (const path of pages) {
    const { status, body } = await browser.open(fillPath(path, samples.params));
    if (status !== 200) continue;
    const usable = body.replace(/<form(?:(?!<\/form>).)*<fieldset[^>]* disabled>.*?<\/form>/gs, '');
    for (const [, href = ''] of body.matchAll(/<a [^>]*?href="(\/[^"]*)"/g)) offers.add(`GET ${textOf(href)}`);
    for (const [, action = ''] of usable.matchAll(/<form method="post" action="([^"]*)"[^>]*>.*?<button/gs)) {
      offers.add(`POST ${action}`);
    }
  }
  return offers;
}

test.each([
  ...Object.entries(OPERATORS).map(([role, email]) => ({ role, email })),
  { role: 'team', email: TEAM },
  { role: 'viewer recover', email: RECOVERER },
])('$email is offered no link and no form that the role $role cannot use', async ({ email }) => {
  const browser = await fixture.signIn(email);
  const offers = await collectOffers(browser);
  expect(offers.size).toBeGreaterThan(10);
  const [applicationId, admin] = [fixture.tenant.id, adminClient(fixture.service)];
  await admin.updateApplication({ applicationId, restrictAccess: true });
  for (const offer of await collectOffers(browser, RESTRICTED)) offers.add(offer);
  await admin.updateApplication({ applicationId, restrictAccess: false });
  const operator = parseOperators(await readFile(fixture.operatorsFile, 'utf8')).get(email) as SignedInOperator;
  const refused = [...offers].filter((offer) => {
    const [method = '', path = ''] = offer.split(' ');
    const found = findRoute(new RouteTable(ROUTES), method, path.split('?')[0] ?? '');
    return !found || !mayUse(found, operator);
  });
  expect(refused).toEqual([]);
});

test('a team begins with its applications, where it sees who may sign in', async () => {
  const [browser, admin] = [await fixture.signIn(TEAM), adminClient(fixture.service)];
  expect((await browser.open('/')).location).toBe('/applications');
  await admin.updateApplication({ applicationId: fixture.tenant.id, restrictAccess: true });
  const { text } = await browser.open(fillPath('/applications/:a/users', samples.params));
  expect(text).toContain('Only people who are let in may sign in, and the members of editors.');
  await admin.updateApplication({ applicationId: fixture.tenant.id, restrictAccess: false });
});

test('a team is told of an outage, and not that it has no applications', async () => {
  const browser = await fixture.signIn(TEAM);
  const { sql } = fixture.service.database;
  await sql`alter table applications rename column terms_uri to terms_uri_away`;
  const { status } = await browser
    .open('/applications')
    .finally(() => sql`alter table applications rename column terms_uri_away to terms_uri`);
  expect(status).toBeGreaterThanOrEqual(500);
});

test('no link leads to an error', async () => {
  const browser = await fixture.signIn(OPERATORS.admin);
  const links = [...(await collectOffers(browser))].filter((offer) => offer.startsWith('GET '));
  expect(links.filter((link) => link.includes('?')).length).toBeGreaterThan(10);
  const broken: string[] = [];
  for (const link of links) {
    const { status, heading } = await browser.open(link.slice('GET '.length));
    if (status >= 400) broken.push(`${link}: ${status} ${heading}`);
  }
  expect(broken).toEqual([]);
});
