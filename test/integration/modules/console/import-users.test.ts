/** A file of people on the page Users: what would become of each line is shown first. */
import { afterAll, expect, test } from 'vitest';
import { type ConsoleBrowser, OPERATORS } from '../../../support/console-fixture.ts';
import { openSampledConsole } from '../../../support/console-samples.ts';
import { adminClient } from '../../../support/service.ts';

const { fixture, samples, browser } = await openSampledConsole(OPERATORS.admin);
afterAll(() => fixture.close());

const admin = adminClient(fixture.service);
const path = '/users/import';

/** Sends the file as a browser does. */
async function check(
  text: string,
  { onConflict = 'skip', by = browser }: { onConflict?: string; by?: ConsoleBrowser } = {},
) {
  const form = new FormData();
  form.set('file', new Blob([text]), 'people.csv');
  form.set('onConflict', onConflict);
  const encoded = new Response(form);
  const headers = { 'sec-fetch-site': 'same-origin', 'content-type': encoded.headers.get('content-type') ?? '' };
  return by.post(path, new Uint8Array(await encoded.arrayBuffer()), headers);
}

const find = async (email: string) => (await admin.listUsers({ email })).users[0];

test('a list of people is imported in five steps: Users, Import…, the file, Check, Import', async () => {
  expect((await browser.open('/users')).body).toContain(`href="${path}"`);
  expect((await browser.open(path)).text).toContain('CSV with a heading');
  const checked = await check(
    'E-mail;Full name;External ID;Groups\r\nmary@example.com;"Mary; Somerville";crm-1;editors\r\nsophie@example.com;Sophie;;\r\nnot an address;;;\r\n',
  );
  expect(checked.text).toMatch(/Refused.*4\s?not an address;;;\s?email: Validation failed/);
  expect(checked.text).toContain('2 new, 1 refused. Nothing is stored yet.');
  expect(await find('mary@example.com')).toBeUndefined();
  const done = await browser.submit(checked, path);
  expect(done.text).toContain('Imported: 2 new.');
  expect(await find('mary@example.com')).toMatchObject({ name: 'Mary; Somerville', externalId: 'crm-1' });
  const { groups } = await admin.listUserGroups({ userId: (await find('mary@example.com'))?.id ?? '' });
  expect(groups.map(({ name }) => name)).toEqual(['editors']);
  expect((await fixture.readAudit())[0]?.action).toBe('AdminService/BatchCreateUsers');
});

test.each([
  ['skip', '1 left as they are', 'Ada Lovelace'],
  ['update', '1 changed', 'Ada King'],
])('people who are here already: %s', async (onConflict, counts, name) => {
  const checked = await check(`email\tname\n${samples.email}\tAda King\n`, { onConflict });
  expect(checked.text).toContain(`${counts}. Nothing is stored yet.`);
  expect((await browser.submit(checked, path)).text).toContain(`Imported: ${counts}.`);
  expect(await find(samples.email)).toMatchObject({ name });
});

test('JSON lines are taken as an import takes them, more than one batch of them', async () => {
  const lines = Array.from({ length: 250 }, (_, at) =>
    JSON.stringify({ email: `line-${at}@example.com`, name: `Nr. "${at}"` }),
  );
  const checked = await check(`\ufeff${lines.join('\n')}\n{"email":\n`);
  expect(checked.text).toContain('250 new, 1 refused.');
  expect(checked.text).toContain('is no JSON object');
  expect((await browser.submit(checked, path)).text).toContain('Imported: 250 new.');
  expect(await find('line-249@example.com')).toMatchObject({ name: 'Nr. "249"' });
});

test('the fullest file is confirmed, and a larger one refused', async () => {
  const name = 'é"'.repeat(60);
  const line = (at: number) => `{"email":"full-${at}@example.com","name":${JSON.stringify(name)}}`;
  const lines: string[] = [];
  for (let at = 0, bytes = 0; bytes + 300 < 65_536; at++) {
    lines.push(line(at));
    bytes += Buffer.byteLength(line(at)) + 1;
  }
  const checked = await check(lines.join('\n'));
  expect((await browser.submit(checked, path)).text).toContain(`Imported: ${lines.length} new.`);
  for (const size of [65_537, 300_000]) {
    const refused = await check('x'.repeat(size));
    expect(refused).toMatchObject({ status: 422, body: expect.stringContaining('id="file-wrong"') });
  }
});

test.each([
  ['nothing', ''],
  ['a heading without addresses', 'name\nAda\n'],
  ['what is no text', '\0\u0001\ufffd'],
])('a file with %s imports nobody', async (_, text) => {
  const reply = await check(text);
  expect([200, 422]).toContain(reply.status);
  expect(reply.body).not.toContain('name="confirmed"');
});

test('shows 100 lines that are refused, and how many more there are', async () => {
  const linesOf = (count: number) => `email\n${Array.from({ length: count }, (_, at) => `nobody-${at}`).join('\n')}`;
  const all = await check(linesOf(100));
  expect([all.rows.length, all.text.includes('more.')]).toEqual([100, false]);
  expect(all.text).toContain('100 refused. Nothing is stored yet.');
  expect(all.body).not.toContain('<button>Import');
  const cut = await check(linesOf(101));
  expect([cut.rows.length, cut.text.includes('And 1 more.')]).toEqual([100, true]);
});

test('says what is wrong with a line, and has no list of these without one', async () => {
  const checked = await check('email,groups\nada@new.test,\ngrace@new.test,no-such-group\n');
  expect(checked.rows).toEqual([['3', 'grace@new.test,no-such-group', 'groups: Group not found']]);
  expect(checked.body).toContain('<button>Import 1 person</button>');
  const fine = await check('email\njoan@new.test\nmary@new.test\n');
  expect(fine.text).toContain('2 new. Nothing is stored yet.');
  expect(fine.text).not.toContain('Refused');
  expect(fine.body).toContain('<button>Import 2 people</button>');
  const done = await browser.submit(fine, path);
  expect(done.text).toContain('Imported: 2 new.');
  expect(done.text).not.toContain('Refused');
});

test.each([
  ['what may not be chosen', { onConflict: 'replace' }, 200],
  ['no line', { lines: '\n' }, 422],
])('a confirmation with %s is not trusted', async (_, fields, status) => {
  const form = { lines: `{"email":"${samples.email}","name":"Eve"}`, confirmed: 'on', ...fields };
  const reply = await browser.post(path, form);
  expect(reply.status).toBe(status);
  if (status === 200) expect(reply.text).toContain('Imported: 1 left as they are.');
});

test('a full batch is imported by one call', async () => {
  const batches = async () =>
    (await fixture.readAudit()).filter(({ action }) => /BatchCreateUsers/.test(action)).length;
  const lines = Array.from({ length: 100 }, (_, at) => `{"email":"batch-${at}@example.com"}`).join('\n');
  const before = await batches();
  const done = await browser.submit(await check(lines), path);
  expect(done.text).toContain('Imported: 100 new.');
  expect((await batches()) - before).toBe(100);
});

test('a form without a file, or with an empty one, is refused at its field', async () => {
  for (const file of [undefined, new Blob(['']), 'text']) {
    const form = new FormData();
    if (typeof file === 'string') form.set('file', file);
    else if (file) form.set('file', file, 'people.csv');
    form.set('onConflict', 'skip');
    const encoded = new Response(form);
    const headers = { 'sec-fetch-site': 'same-origin', 'content-type': encoded.headers.get('content-type') ?? '' };
    const reply = await browser.post(path, new Uint8Array(await encoded.arrayBuffer()), headers);
    expect([reply.status, reply.text]).toEqual([422, expect.stringContaining('must be a file of at most 64 KiB')]);
  }
  expect((await check(`email\nexact@example.com\n${' '.repeat(65_536 - 24)}`)).text).toContain('1 new.');
});

test('only an admin imports', async () => {
  const support = await fixture.signIn(OPERATORS.support);
  expect((await support.open('/users')).body).not.toContain(path);
  expect((await check('email\nx@example.com\n', { by: support })).status).toBe(403);
});
