/** What a row of the audit log says of an event: which names are looked up, what is seen, and what is behind it. */
import { randomUUID } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { NO_APPLICATION } from '../../../../src/database/schema/audit-schema.ts';
import type { AuditEvent } from '../../../../src/domain/audit/list-audit-events.ts';
import { OWN_APPLICATION_IDS } from '../../../../src/domain/core/own-applications.ts';
import { renderAuditList } from '../../../../src/modules/console/parts/audit-list.ts';
import { textOf } from '../../../support/login-browser.ts';

const [ADA, GRACE, SHOP, KEY, THING] = [randomUUID(), randomUUID(), randomUUID(), randomUUID(), randomUUID()];
const [OWN = ''] = OWN_APPLICATION_IDS;
const NAMES: Readonly<Record<string, readonly [name: string, detail: string]>> = {
  [ADA]: ['Ada', 'ada@example.com'],
  [GRACE]: ['grace@example.com', 'grace@example.com'],
  [SHOP]: ['Shop', ''],
  [KEY]: ['deploy', SHOP],
};

const EVENT = {
  ...{ id: randomUUID(), occurredAt: new Date('2026-03-01T10:11:12Z'), actorType: 'console', actor: ADA },
  ...{ action: 'AdminService/UpdateUser', resource: GRACE, applicationId: SHOP, onBehalfBy: null, note: null },
  ...{ ipAddress: '203.0.113.7', requestId: 'request-1' },
} as unknown as AuditEvent;

type Given = Partial<AuditEvent>;

const clean = (text = '') => textOf(text).replace(/\s+/g, ' ').trim();

async function show(event: Given, names = NAMES, isOfResource = false) {
  let asked: Record<string, readonly string[]> = {};
  const run = async (_: unknown, ids: typeof asked) => {
    asked = Object.fromEntries(Object.entries(ids).filter(([, each]) => each.length > 0));
    return Object.entries(names).map(([id, [name, detail]]) => ({ id, name, detail }));
  };
  const options = { empty: 'None', level: 2, isOfResource } as const;
  const { text } = await renderAuditList({ call: { run } } as never, [{ ...EVENT, ...event }], options);
  const facts = [...text.matchAll(/<dt>(.*?)<\/dt><dd>(.*?)<\/dd>/gs)];
  const part = (name: string) => clean(new RegExp(`<${name}>(.*?)</${name}>`, 's').exec(text)?.[1]);
  return {
    asked,
    who: part('strong'),
    empty: text.match(/<span class="(object|soft)">(\s|<[^>]*>)*<\/span>/g),
    line: clean(/<span class="line">(.*?)<\/summary>/s.exec(text)?.[1]),
    facts: Object.fromEntries(facts.map(([, name = '', value]) => [name, clean(value)])),
    links: [...text.matchAll(/href="([^"]*)"/g)].map(([, link = '']) => textOf(link)),
  };
}

test('a log without events says so, and asks for no names', async () => {
  const run = () => Promise.reject(new Error('asked'));
  const { text } = await renderAuditList({ call: { run } } as never, [], { empty: 'No events yet.', level: 2 });
  expect(textOf(text)).toBe('No events yet.');
});

describe('names are looked up', () => {
  const nothing = { actorType: 'usher', actor: '', applicationId: NO_APPLICATION, resource: '' };

  test.each<[string, event: Given, asked: Record<string, string[]>]>([
    ['of nothing', nothing, {}],
    ['of an operator', { ...nothing, actorType: 'console', actor: ADA }, { users: [ADA] }],
    ['of a key', { ...nothing, actorType: 'api_key', actor: KEY }, { keys: [KEY] }],
    ['not of an admin key, which is its name', { ...nothing, actorType: 'admin_key', actor: ADA }, {}],
    ['not of what is no ID', { ...nothing, actorType: 'console', actor: 'ada' }, {}],
    ['of a person', { ...nothing, resource: ADA }, { users: [ADA] }],
    ['not of a person without an ID', { ...nothing, resource: 'ada' }, {}],
    ['of a webhook', { ...nothing, action: 'WebhookService/UpdateWebhook', resource: 'wh_1' }, { webhooks: ['wh_1'] }],
    [
      'not of an event, which an application names',
      { ...nothing, action: 'EventService/CreateEvent', resource: ADA },
      {},
    ],
    ['not of a passkey', { ...nothing, action: 'AdminService/DeletePasskey', resource: THING }, {}],
    [
      'of anything by an unknown action',
      { ...nothing, action: 'AdminService/Later', resource: THING },
      { users: [THING], applications: [THING], keys: [THING], groups: [THING] },
    ],
    ['of the application', { ...nothing, applicationId: SHOP }, { applications: [SHOP] }],
    ['not of an application of Usher', { ...nothing, applicationId: OWN }, {}],
  ])('%s', async (_, event, asked) => {
    expect((await show(event)).asked).toEqual(asked);
  });
});

describe('the line of an event', () => {
  test.each<[string, event: Given, line: string]>([
    ['of an operator', {}, 'Ada Changed a user grace@example.com Shop'],
    ['on nothing', { resource: '' }, 'Ada Changed a user Shop'],
    ['on oneself', { resource: ADA }, 'Ada Changed a user Shop'],
    ['in no application', { applicationId: NO_APPLICATION }, 'Ada Changed a user grace@example.com'],
    ['in Usher itself', { applicationId: OWN }, 'Ada Changed a user grace@example.com Usher'],
    [
      'on its application',
      { action: 'AdminService/UpdateApplication', resource: SHOP },
      'Ada Changed an application Shop',
    ],
    [
      'on an event, which shows its whole ID',
      { action: 'EventService/CreateEvent', resource: 'the night of the opening' },
      'Ada Created an event the night of the opening Shop',
    ],
    [
      'at the login page, on oneself',
      { actorType: 'login_page', actor: '', action: 'POST /account/name' },
      'grace@example.com Changed the name Shop',
    ],
    [
      'at the login page, on something else',
      { actorType: 'login_page', actor: '', action: 'AdminService/UpdateApplication', resource: SHOP },
      'Somebody Changed an application Shop',
    ],
  ])('%s', async (_, event, line) => {
    expect(await show(event)).toMatchObject({ line, empty: null });
  });

  test('leaves out what the page is about', async () => {
    expect((await show({}, NAMES, true)).line).toBe('Ada Changed a user Shop');
  });

  test.each<[string, event: Given, who: string]>([
    ['Usher', { actorType: 'usher', actor: '' }, 'Usher'],
    ['Usher, on nothing', { actorType: 'usher', actor: '', resource: '' }, 'Usher'],
    ['a key, on itself', { actorType: 'api_key', actor: KEY, resource: KEY }, 'Key deploy'],
    ['a part that this version does not know', { actorType: 'robot', actor: '' }, 'robot'],
    ['an admin key', { actorType: 'admin_key', actor: 'deploy' }, 'Admin key deploy'],
    ['a file', { actorType: 'file', actor: 'apps.json' }, 'The file apps.json'],
    ['a key', { actorType: 'api_key', actor: KEY }, 'Key deploy'],
  ])('says who it was: %s', async (_, event, who) => {
    expect((await show(event)).who).toBe(who);
  });

  test('names the application of a key without a name', async () => {
    expect((await show({ actorType: 'api_key', actor: KEY }, { ...NAMES, [KEY]: ['', SHOP] })).who).toBe('Shop');
  });
});

describe('behind the line', () => {
  test('are the IDs, the address of the operator, and links to more', async () => {
    const { facts, links } = await show({ onBehalfBy: 'Zoë' });
    expect(facts).toMatchObject({
      Who: expect.stringMatching(`^Ada · ada@example.com · ${ADA}.*Everything by this actor$`),
      What: 'AdminService/UpdateUser · Every one of these',
      'On behalf': 'by Zoë',
      'On what': expect.stringMatching(`^grace@example.com · ${GRACE}.* · Open$`),
      Application: expect.stringMatching(`^Shop · ${SHOP}`),
      From: '203.0.113.7',
      Request: expect.stringMatching('^request-1'),
    });
    expect(links).toEqual(
      expect.arrayContaining([`/audit?actor=${ADA}`, `/applications/${SHOP}`, `/search?q=${GRACE}`]),
    );
  });

  test('is nothing that an event does not have', async () => {
    const { facts } = await show({ resource: '', applicationId: NO_APPLICATION, ipAddress: '', requestId: '' });
    expect(Object.keys(facts)).toEqual(['When (UTC)', 'Who', 'What']);
  });

  test.each<[string, event: Given, names: typeof NAMES, who: RegExp]>([
    ['whose name is the address', { actor: GRACE }, NAMES, /^grace@example\.com · [-0-9a-f]{36} Copy/],
    ['who is erased', {}, {}, /^[-0-9a-f]{8}….{4} · [-0-9a-f]{36} Copy/],
    ['that is a key', { actorType: 'api_key', actor: KEY }, NAMES, /^Key deploy · [-0-9a-f]{36} Copy/],
    ['at the login page', { actorType: 'login_page', actor: '' }, NAMES, /^At the login page$/],
    ['that is Usher', { actorType: 'usher', actor: '' }, NAMES, /^Usher$/],
    ['of a later version', { actorType: 'robot', actor: '' }, NAMES, /^robot$/],
  ])('has an actor %s', async (_, event, names, who) => {
    expect((await show(event, names)).facts.Who).toMatch(who);
  });

  test('has no link to the page of an application of Usher', async () => {
    const { facts, links } = await show({ applicationId: OWN });
    expect(facts.Application).toMatch(`Usher · ${OWN}`);
    expect(links).not.toContain(`/applications/${OWN}`);
  });

  test('has no search for an attendee, whom it would not find, and no name for what has none', async () => {
    const { facts } = await show({ action: 'EventService/CheckIn', resource: 'night/ada' });
    expect(facts['On what']).toMatch(/^night\/ada Copy night\/ada$/);
  });
});
