/** What the filters of the audit log mean by what operators type, and what the page says of it. */
import { randomUUID } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { readAuditFilters, renderChoices } from '../../../../src/modules/console/parts/audit-filters.ts';
import { textOf } from '../../../support/login-browser.ts';

const [ADA, SHOP, TWIN, GROUP, NOBODY] = [randomUUID(), randomUUID(), randomUUID(), randomUUID(), randomUUID()];
const THINGS = [
  { kind: 'user', id: ADA, name: 'Ada', detail: 'ada@example.com' },
  { kind: 'user', id: NOBODY, name: 'Adam', detail: 'adam@example.com' },
  { kind: 'application', id: SHOP, name: 'Shop', detail: 'https://shop.test/' },
  { kind: 'application', id: TWIN, name: 'Shopping', detail: 'https://twin.test/' },
  { kind: 'group', id: GROUP, name: 'editors', detail: 'Editors' },
] as const;
const UNNAMED = randomUUID();

/** Stands for Postgres: finds what begins with the text, or has one of the IDs. */
async function run(_: unknown, { typed, prefix = '', ...ids }: Record<string, string> & { typed?: string }) {
  const wanted = Object.values(ids).flat();
  return THINGS.filter(({ id, name, detail }) =>
    typed === undefined ? wanted.includes(id) : [name, detail].some((each) => each.toLowerCase().startsWith(prefix)),
  );
}

async function read(filters: Record<string, string>) {
  const query = new URLSearchParams(filters);
  const { given, choices, summary } = await readAuditFilters({ call: { run }, query } as never);
  return {
    given: Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)),
    choices: Object.fromEntries(Object.entries(choices).map(([name, things]) => [name, things.map(({ id }) => id)])),
    summary: summary && textOf(summary.text),
  };
}

const [ALL, FEW] = ['sign-ins included.', 'sessions begun, renewed or ended, and check-ins are left out.'];

describe('filters', () => {
  test.each<[string, filters: Record<string, string>, given: object, summary: string | undefined]>([
    ['none', {}, {}, undefined],
    ['by name', { actor: 'ADA ' }, { person: ADA }, `By Ada: ${ALL}`],
    ['by address', { actor: 'ada@example.com' }, { person: ADA }, `By Ada: ${ALL}`],
    ['by ID', { actor: ADA.toUpperCase() }, { person: ADA }, `By Ada: ${ALL}`],
    ['by the name of a key', { actor: 'deploy' }, { actor: 'deploy' }, `By deploy: ${FEW}`],
    ['by an address of nobody', { actor: 'x@y.test' }, { actor: 'x@y.test' }, 'Nobody has the address x@y.test.'],
    ['on an ID', { resource: GROUP }, { resource: GROUP }, `On editors: ${ALL}`],
    ['on a name', { resource: 'editors' }, { resource: GROUP }, `On editors: ${ALL}`],
    ['on an attendee', { resource: 'night/ada' }, { resource: 'night/ada' }, `On night/ada: ${ALL}`],
    ['by and on', { actor: 'ada', resource: 'shop' }, { person: ADA, resource: SHOP }, `By Ada, on Shop: ${ALL}`],
    ['in an application', { application: 'shop' }, { applicationId: SHOP }, undefined],
    ['with the rest', { action: 'X', since: '1 Mar 2026' }, { action: 'X', since: '2026-03-01T00:00:00Z' }, undefined],
  ])('%s', async (_, filters, given, summary) => {
    const found = await read(filters);
    expect({ given: found.given, choices: found.choices }).toEqual({ given, choices: {} });
    if (summary === undefined) expect(found.summary).toBeUndefined();
    else expect(found.summary).toContain(summary);
  });

  test('by the ID of something that is no person finds what it did, without sign-ins', async () => {
    expect(await read({ actor: SHOP })).toMatchObject({ given: { actor: SHOP }, summary: `By Shop: ${FEW}` });
    expect((await read({ actor: UNNAMED })).summary).toBe(`By ${UNNAMED}: ${FEW}`);
  });

  test('that fit several things offer these, and find nothing but the text', async () => {
    expect(await read({ actor: 'a', application: 'sho' })).toEqual({
      given: { actor: 'a', applicationId: 'sho' },
      choices: { actor: [ADA, NOBODY], application: [SHOP, TWIN] },
      summary: `By a: ${FEW}`,
    });
  });

  test('are refused before a statement if they are too long', async () => {
    expect((await read({ actor: 'x'.repeat(255) })).given.actor).toHaveLength(255);
    const asked = readAuditFilters({
      call: { run: () => Promise.reject(new Error('asked')) },
      query: new URLSearchParams({ actor: 'x'.repeat(256) }),
    } as never);
    await expect(asked).rejects.toMatchObject({ reason: 'VALIDATION_FAILED', violations: [{ field: 'actor' }] });
  });
});

test('a choice keeps the other filters that are in use, and begins at the first page', () => {
  const query = new URLSearchParams({ actor: 'ada', action: 'X', resource: '', page: 'token' });
  const { text } = renderChoices(query, { actor: THINGS.slice(0, 2) });
  expect(textOf(text)).toContain('Several fit ada');
  const links = [...text.matchAll(/href="([^"]*)"/g)].map(([, link = '']) => textOf(link));
  expect(links).toEqual([`/audit?actor=${ADA}&action=X`, `/audit?actor=${NOBODY}&action=X`]);
});
