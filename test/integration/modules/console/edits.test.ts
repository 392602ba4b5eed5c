/** Two operators who change the same: nobody replaces what they have not seen. */
import { afterAll, describe, expect, test } from 'vitest';
import { OPERATORS } from '../../../support/console-fixture.ts';
import { type ConsoleSamples, openSampledConsole } from '../../../support/console-samples.ts';
import { createTestUser } from '../../../support/service.ts';

const { fixture, samples, browser } = await openSampledConsole(OPERATORS.admin);

afterAll(() => fixture.close());

const EDITED = [
  {
    what: 'application',
    pathOf: ({ params: { a } }: ConsoleSamples) => `/applications/${a}`,
    table: 'applications',
    first: { accentColor: '#112233' },
    second: { supportUri: 'https://help.test/' },
    column: 'accent_color',
  },
  {
    what: 'user',
    pathOf: ({ params: { u } }: ConsoleSamples) => `/users/${u}`,
    table: 'users',
    first: { name: 'Ada King' },
    second: { walletAddress: '0x00000000000000000000000000000000000000aa' },
    column: 'name',
  },
  {
    what: 'group',
    pathOf: ({ params: { g } }: ConsoleSamples) => `/groups/${g}`,
    table: 'groups',
    first: { name: 'writers' },
    second: { displayName: 'Writers' },
    column: 'name',
  },
  {
    what: 'webhook',
    pathOf: ({ params: { a, w } }: ConsoleSamples) => `/applications/${a}/webhooks/${w}`,
    table: 'webhooks',
    first: { url: 'https://hooks.test/moved' },
    second: { description: 'The second' },
    column: 'url',
  },
];

describe.each(EDITED)('the form of a $what', ({ pathOf, table, first, second, column }) => {
  const [[name = '', saved = ''] = []] = Object.entries(first);
  const [[otherName = '', typed = ''] = []] = Object.entries(second);
  const read = async () => {
    const rows = await fixture.service.database.sql`select * from ${fixture.service.database.sql(table)}`;
    return rows.some((row) => row[column] === saved);
  };

  test('that was rendered before another change is refused, keeps what was typed, and can be sent again', async () => {
    const path = pathOf(samples);
    const [one, other] = [await browser.open(path), await browser.open(path)];
    expect((await browser.submit(one, path, first)).text).toContain('Saved.');
    const refused = await browser.submit(other, path, second);
    expect(refused.status).toBe(422);
    expect(refused.text).toContain('Somebody has changed this since you opened it');
    expect(refused.text).toContain(`Saved: ${saved}`);
    expect(refused.forms.find(({ action }) => action === path)?.fields).toMatchObject({ [otherName]: typed });
    expect(await read()).toBe(true);
    // What is wrong besides does not make the form one of the new version.
    const stale = await browser.submit(other, path, { ...second, [name]: 'x'.repeat(2_000) });
    expect(stale.text).toContain('Nothing is saved yet');
    expect((await browser.submit(stale, path, { ...second, [name]: saved })).text).toContain(
      'Somebody has changed this',
    );
    expect((await browser.submit(refused, path, { [name]: saved })).text).toContain('Saved.');
    expect(await read()).toBe(true);
  });

  test('is saved once by two who save at the same instant', async () => {
    const path = pathOf(samples);
    const pages = await Promise.all(Array.from({ length: 4 }, () => browser.open(path)));
    const field = otherName === 'walletAddress' ? 'name' : otherName;
    const value = (index: number) => (field === 'supportUri' ? `https://help.test/${index}` : `name ${index}`);
    const replies = await Promise.all(
      pages.map((page, index) => browser.submit(page, path, { [field]: value(index) })),
    );
    expect(replies.map(({ status }) => status).sort()).toEqual([200, 422, 422, 422]);
  });
});

test('a form is not refused because of what it does not show', async () => {
  const user = await createTestUser(fixture.service);
  const path = `/users/${user.id}`;
  const page = await browser.open(path);
  await browser.post(`${path}/deactivate`);
  expect((await browser.submit(page, path, { name: 'Deactivated meanwhile' })).text).toContain('Saved.');
});

test.each([{}, { version: '' }])('a form with %j for a version replaces what is stored', async (version) => {
  const { id, email } = await createTestUser(fixture.service);
  const { location } = await browser.post(`/users/${id}`, { email, name: 'Sent by hand', ...version });
  expect(location).toBe(`/users/${id}?done=saved`);
});
