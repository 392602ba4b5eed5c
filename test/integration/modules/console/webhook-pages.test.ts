/** The pages of webhooks and deliveries, in the states that these can be in. */
import { afterAll, beforeEach, describe, expect, test } from 'vitest';
import { OPERATORS } from '../../../support/console-fixture.ts';
import { openSampledConsole } from '../../../support/console-samples.ts';

const { fixture, samples, browser } = await openSampledConsole(OPERATORS.admin);
const { sql } = fixture.service.database;
const { a, w, m } = samples.params;
const list = `/applications/${a}/webhooks`;
const path = `${list}/${w}`;
const deliveries = `${path}/deliveries`;
const delivery = `${deliveries}/${m}`;
const AT = '2026-03-01T10:11:12Z';

afterAll(() => fixture.close());

beforeEach(async () => {
  await sql`update webhooks set is_active = true, disabled_reason = null, event_types = '{*}', ordered = false`;
  await sql`update webhook_deliveries set status = 'succeeded', due_at = null, attempt_count = 1`;
  await sql`delete from webhook_attempts`;
});

const hasForm = async (page: string, action: string) =>
  (await browser.open(page)).forms.some((form) => form.action === action);

test.each([
  [{ isActive: true, reason: null }, 'Active', true],
  [{ isActive: false, reason: null }, 'Not active', false],
  [{ isActive: false, reason: 'TOO_MANY_FAILURES' }, 'Disabled: too many failures', false],
])(
  'a webhook that is %j is shown as %s, and is tested and sends again if it is active',
  async (given, state, works) => {
    await sql`update webhooks set is_active = ${given.isActive}, disabled_reason = ${given.reason}`;
    const [row] = (await browser.open(list)).rows;
    expect(row?.[1]).toBe(state);
    const page = await browser.open(path);
    expect(page.text).toContain(`${samples.webhookUrl} ${state}`);
    expect(page.text.includes('Usher sends nothing while the webhook is not active.')).toBe(!works);
    expect(await hasForm(path, `${path}/test`)).toBe(works);
    expect((await browser.open(delivery)).text.includes('The webhook is not active, so')).toBe(!works);
    expect(await hasForm(delivery, `${delivery}/resend`)).toBe(works);
  },
);

test.each([
  ['{}', 'none', 'none'],
  ['{*}', 'all', 'all'],
  ['{user.created,user.updated}', 'user.created, user.updated', 'user.created, user.updated'],
  [
    '{user.created,user.updated,webhook.test}',
    'user.created, user.updated and 1 more',
    'user.created, user.updated, webhook.test',
  ],
])('of the types %s, the list says "%s"', async (types, short, long) => {
  await sql`update webhooks set event_types = ${types}`;
  expect((await browser.open(list)).rows[0]?.[2]).toBe(short);
  expect((await browser.open(path)).facts.Types).toBe(long);
});

test('the form has every type once, closed until it is opened or refused', async () => {
  const page = await browser.open(path);
  const types = [...page.body.matchAll(/name="eventTypes" value="([^"]*)"/g)].map(([, type]) => type);
  expect(types.length).toBeGreaterThan(10);
  expect(new Set(types).size).toBe(types.length);
  expect(page.body).toContain('<details class="panel"><summary>Change the webhook');
  const refused = await browser.submit(page, path, { url: 'nowhere' });
  expect(refused.body).toContain('<details class="panel" open><summary>Change the webhook');
});

test('a webhook whose owner nobody names gets the operator, who becomes a user of the application', async () => {
  const created = await browser.submit(await browser.open(list), list, {
    url: 'https://hooks.test/mine',
    ownerId: '',
    eventTypes: '*',
  });
  expect(created.facts.Owner).toBe(OPERATORS.admin);
  const added = await sql`
    select email from added_users join users on id = user_id where application_id = ${a} and email = ${OPERATORS.admin}`;
  expect(added).toHaveLength(1);
});

test('a webhook says when it tries again and since when it fails, if it does', async () => {
  await sql`delete from webhook_queues`;
  const quiet = (await browser.open(path)).facts;
  expect(quiet).not.toHaveProperty('Next attempt');
  expect(quiet).not.toHaveProperty('Failing since');
  await sql`insert into webhook_queues (application_id, webhook_id, failing_since) values (${a}, ${w}, ${AT})`;
  await sql`update webhook_deliveries set status = 'pending', due_at = ${AT}`;
  expect((await browser.open(path)).facts).toMatchObject({
    'Next attempt': '1 Mar 2026, 10:11:12',
    'Failing since': '1 Mar 2026, 10:11:12',
  });
});

test('a new signing key takes no name, a deletion does', async () => {
  const fieldsOf = async (page: string) =>
    (await browser.open(page)).forms.find((form) => form.action === page)?.fields;
  expect(await fieldsOf(`${path}/rotate`)).not.toHaveProperty('name');
  expect(await fieldsOf(`${path}/delete`)).toHaveProperty('name');
});

describe('the deliveries of a webhook', () => {
  test('are the latest on its page, and all of them with filters on a page of their own', async () => {
    const [short, long] = [await browser.open(path), await browser.open(deliveries)];
    expect(short.body).toContain(`href="${deliveries}">All, with filters</a>`);
    expect(long.body).not.toContain('All, with filters');
    expect(short.body).not.toContain('<summary>Filter</summary>');
    expect(long.body).toContain('<summary>Filter</summary>');
  });

  test.each([
    ['status=failed', 'No delivery.'],
    ['status=failed&since=1+Jan+2099', 'Nothing has failed since 1 Jan 2099.'],
    ['since=1+Jan+2099', 'No delivery.'],
  ])('with the filters %s: "%s"', async (query, text) => {
    expect((await browser.open(`${deliveries}?${query}`)).text).toContain(text);
  });
});

describe('a delivery', () => {
  const attempt = (durationMs: number, statusCode: number | null, error: string | null, body: string | null) => sql`
    insert into webhook_attempts
      (application_id, webhook_id, message_id, attempted_at, duration_ms, status_code, error, response_body)
    values (${a}, ${w}, ${m.slice('msg_'.length)}, ${AT}, ${durationMs}, ${statusCode}, ${error}, ${body})`;

  test('shows each attempt with its status, its time and the answer, the latest first', async () => {
    await attempt(999, 200, null, null);
    await attempt(1_000, 299, null, 'é');
    await attempt(2_500, 300, 'Redirects are not followed', 'Moved');
    await attempt(5, null, 'ECONNREFUSED', null);
    const { rows, body } = await browser.open(delivery);
    const at = '1 Mar 2026, 10:11:12';
    expect(rows).toEqual([
      ['4', at, 'No answer', '5 ms', 'ECONNREFUSED'],
      ['3', at, '300', '2.5 s', 'Redirects are not followed5 bytesMoved'],
      ['2', at, '299', '1.0 s', '2 bytesé'],
      ['1', at, '200', '999 ms', '–'],
    ]);
    const tags = [...body.matchAll(/<td><span class="tag( bad)?">([^<]*)/g)].map(([, bad, text]) => [
      text,
      bad === ' bad',
    ]);
    expect(tags).toEqual([
      ['No answer', true],
      ['300', true],
      ['299', false],
      ['200', false],
    ]);
  });

  test('has headers once there was an attempt, and says when the next one is due', async () => {
    const none = await browser.open(delivery);
    expect(none.text).not.toContain('Headers of the last attempt');
    expect(none.facts).not.toHaveProperty('Next attempt');
    await attempt(1, 500, null, null);
    await sql`update webhook_deliveries set status = 'pending', due_at = ${AT}`;
    const { text, facts } = await browser.open(delivery);
    expect(text).toContain('Headers of the last attempt, with the current key');
    expect(facts).toMatchObject({ 'Next attempt': '1 Mar 2026, 10:11:12', State: 'pending, 1 attempt' });
  });

  test('is known by the type of its message, and by its ID once the message is deleted', async () => {
    const named = await browser.open(delivery);
    expect(named).toMatchObject({ heading: 'webhook.test', body: expect.stringContaining('<title>webhook.test') });
    expect((await browser.open(deliveries)).rows[0]?.[0]).toBe('webhook.test');
    expect(named.text).not.toContain('The payload was deleted with its message.');
    await sql`delete from webhook_messages`;
    const gone = await browser.open(delivery);
    expect(gone).toMatchObject({ heading: m, body: expect.stringContaining(`<title>${m}`) });
    expect((await browser.open(deliveries)).rows[0]?.[0]).toBe(m);
    expect(gone.text).toContain('The payload was deleted with its message.');
  });
});
