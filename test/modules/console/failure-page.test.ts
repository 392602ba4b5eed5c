/** What a page of the console says when something fails, and the frame around it. */

import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, BlockList } from 'node:net';
import { describe, expect, test, vi } from 'vitest';
import { unavailable } from '../../../src/api/call-errors.ts';
import { invalidField, ServiceError } from '../../../src/domain/core/errors.ts';
import { HttpError } from '../../../src/http/errors.ts';
import { createHttpContext } from '../../../src/http/exchange.ts';
import { html } from '../../../src/http/html.ts';
import type { HttpContext } from '../../../src/http/http-context.ts';
import type { ConsoleRequest } from '../../../src/modules/console/console-request.ts';
import { renderKept, sendFailurePage, sendRefusal, sendSignInPage } from '../../../src/modules/console/failure-page.ts';
import { sendFramed, sendNonOperatorPage } from '../../../src/modules/console/frame.ts';
import { deriveConsoleKeys } from '../../../src/modules/console/keys.ts';
import { finishSignIn } from '../../../src/modules/console/sign-in.ts';
import type { SignedInOperator } from '../../../src/modules/console/signed-in-operator.ts';
import { type HttpRequest, request } from '../../support/http.ts';
import { textOf } from '../../support/login-browser.ts';

interface Given {
  readonly operator?: Partial<SignedInOperator>;
  readonly form?: Record<string, string> | [string, string][];
  readonly upload?: boolean;
  readonly outages?: readonly string[];
  readonly query?: string;
  readonly databaseUrl?: string;
}

const ADMIN = { userId: 'ada', email: 'ada@example.com', role: 'admin', mayRecover: true } as const;
const OUTAGE = 'db.test:5432 does not answer';

function requestOf(
  context: HttpContext,
  { operator = {}, form = {}, upload, query, databaseUrl }: Given,
  findOutages: () => Promise<readonly string[]>,
): ConsoleRequest {
  const cookies = { keys: deriveConsoleKeys([Buffer.alloc(32)]), isSecure: false };
  return {
    ...{ context, form: new URLSearchParams(form), query: new URLSearchParams(query), params: {} },
    parts: { findOutages, databaseName: 'db.test:5432/usher', config: { databaseUrl }, cookies },
    upload: upload ? new Response('') : undefined,
    operator: { userId: '', role: 'viewer', ...operator },
    call: { now: new Date() },
  } as unknown as ConsoleRequest;
}

/** Sends a request to a server that answers by the function, and returns what a browser gets. */
async function show(
  respond: (request: ConsoleRequest) => unknown,
  { outages = [], ...given }: Given = {},
  sent: Partial<HttpRequest> = {},
) {
  const findOutages = vi.fn(async () => outages);
  const server = createServer((incoming, response) => {
    const origin = { trustedProxies: new BlockList(), receivedAt: 0, isSecure: false };
    void respond(requestOf(createHttpContext(incoming, response, origin), given, findOutages));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const { body, status, headers } = await request(`http://127.0.0.1:${port}`, { path: '/users/new', ...sent });
  server.close();
  const [main = ''] = /<main.*<\/main>/s.exec(body) ?? [];
  return {
    ...{ status, body, headers, asked: findOutages.mock.calls.length },
    heading: textOf(/<h1>(.*?)<\/h1>/s.exec(body)?.[1]),
    text: textOf(main).replace(/\s+/g, ' '),
    fields: [...main.matchAll(/type="hidden" name="(\w+)" value="([^"]*)"/g)].map(([, name, value]) => [name, value]),
    links: [...body.matchAll(/<li><a href="([^"]*)"( aria-current="page")?/g)].map(
      ([, to, is]) => `${to}${is ? ' *' : ''}`,
    ),
  };
}

const BUSY = 'Usher is overloaded, or cannot reach its database';
const [AGAIN, KEPT] = ['Try again in a moment.', 'The change may have been made. What you typed is kept here.'];

describe('a request that fails', () => {
  test.each<[string, ServiceError | HttpError, status: number, heading: string]>([
    ['for want of the page', new HttpError('NOT_FOUND'), 404, 'Not found'],
    ['for want of the person', new ServiceError('USER_NOT_FOUND'), 404, 'User not found'],
    ['for its field', invalidField('email', 'must be an address'), 400, 'email must be an address'],
    ['by a defect', new ServiceError('INTERNAL_ERROR'), 500, 'Something went wrong in Usher'],
    ['for too many requests', unavailable(), 503, BUSY],
  ])('%s says so', async (_, error, status, heading) => {
    const shown = await show((failed) => sendFailurePage(failed, error), { outages: status === 503 ? [] : [OUTAGE] });
    expect(shown).toMatchObject({ status, heading });
    expect(shown.text).toContain('Request ID: ');
    expect(shown.text.includes(AGAIN)).toBe(status === 503);
    expect(shown.headers['retry-after']).toBe(status === 503 ? '1' : undefined);
    // Asks the servers only if they may be why.
    expect(shown.asked).toBe(status === 503 ? 1 : 0);
    expect(shown.text).not.toContain('Usher needs the database');
  });

  test('while the database does not answer says which and why, also to those who are not signed in', async () => {
    const shown = await show((failed) => sendFailurePage(failed, unavailable()), { outages: [OUTAGE] });
    expect(shown).toMatchObject({ status: 503, heading: 'The database does not answer' });
    expect(shown.text).toContain('Usher needs the database db.test:5432/usher.');
    expect(shown.text).toContain(`${OUTAGE} ${AGAIN}`);
    expect(shown.links).toEqual([]);
  });

  test.each<[string, given: Given, method: string, says: string, fields: string[][]]>([
    ['a form, which keeps what was typed', { form: { name: 'Ada' } }, 'POST', KEPT, [['name', 'Ada']]],
    ['a file, which no page can keep', { form: { name: 'Ada' }, upload: true }, 'POST', AGAIN, []],
    ['a page', { form: { name: 'Ada' } }, 'GET', AGAIN, []],
  ])('may be that of %s', async (_, given, method, says, fields) => {
    const form = { sending: 'before', ...given.form };
    const shown = await show((failed) => sendFailurePage(failed, unavailable()), { ...given, form }, { method });
    expect(shown.text).toContain(says);
    expect(shown.fields.filter(([name]) => name !== 'sending')).toEqual(fields);
    // The form that is sent again is a new one.
    expect(shown.fields).not.toContainEqual(['sending', 'before']);
  });

  test('has the menu for an operator who is signed in', async () => {
    const fail = (failed: ConsoleRequest) => sendFailurePage(failed, new ServiceError('USER_NOT_FOUND'));
    expect((await show(fail, { operator: ADMIN })).links).toContain('/users');
    expect((await show(fail)).links).toEqual([]);
  });
});

describe('what was typed', () => {
  const kept = (form: Given['form']) =>
    renderKept(requestOf({ path: '/users/new' } as HttpContext, { ...(form && { form }) }, async () => []));
  const fields = (count: number) => Array.from({ length: count }, (_, at): [string, string] => [`name-${at}`, 'Ada']);

  test.each<[string, form: Given['form'], isKept: boolean]>([
    ['is kept', { name: 'Ada' }, true],
    ['is nothing to keep if it is blank', { name: ' ', sending: 'x' }, false],
    ['is kept of a hundred fields', fields(100), true],
    ['is not kept of more fields than any form has', fields(101), false],
  ])('%s', (_, form, isKept) => {
    const shown = kept(form);
    expect(shown && textOf(shown.text)).toEqual(isKept && expect.stringContaining('What you typed is kept here.'));
  });

  test.each([
    [true, 'This needs a sign-in of the last 15 minutes.', '/login?fresh'],
    [false, 'Your session has ended.', '/login'],
  ])('is sent after a sign-in, a new one: %s', async (needsFresh, why, path) => {
    const shown = await show((old) => sendSignInPage(old, needsFresh, html`<p>Kept</p>`));
    expect(shown).toMatchObject({ status: 401, heading: 'Sign in, then send the form again' });
    expect(shown.text).toContain(why);
    expect(shown.body).toContain(`href="${path}" target="_blank"`);
    expect(shown.text).toContain('Kept');
  });
});

describe('an operator without the right', () => {
  test.each<[role: SignedInOperator['role'], needed: SignedInOperator['role'], says: string]>([
    ['viewer', 'admin', 'It needs the role admin, and you have the role viewer.'],
    ['team', 'admin', 'It needs the role admin, and you have the role team.'],
    ['team', 'viewer', 'A team may use the pages of its own applications only.'],
    ['support', 'viewer', 'It needs the word recover in your line of OPERATORS_FILE.'],
  ])('of the role %s, which %s has, is told which', async (role, needed, says) => {
    const shown = await show((refused) => sendRefusal(refused, needed), { operator: { ...ADMIN, role } });
    expect(shown).toMatchObject({ status: 403, heading: 'Your role does not allow this' });
    expect(shown.text).toContain(says);
  });

  test.each([
    [false, 'is not an operator.', false],
    [true, 'has to sign in with a passkey', true],
  ])('at all is told so, and of the passkey if one is needed: %s', async (needsPasskey, says, hasLink) => {
    const shown = await show(({ context }) => sendNonOperatorPage(context, { email: 'eve@example.com', needsPasskey }));
    expect(shown).toMatchObject({ status: 403, heading: 'You cannot use the console' });
    expect(shown.text).toContain(says);
    expect(shown.body.includes('href="/login?passkey"')).toBe(hasLink);
  });
});

test.each<[role: SignedInOperator['role'], links: string[], canSearch: boolean]>([
  ['viewer', ['/', '/users', '/groups', '/applications *', '/audit', '/health'], true],
  ['team', ['/applications *'], false],
])('the menu of a %s has the pages of the role, and marks the one that is open', async (role, links, canSearch) => {
  const page = { title: 'Shop', section: 'applications', body: html`<h1>Shop</h1>` } as const;
  const shown = await show((opened) => sendFramed(opened, page), { operator: { ...ADMIN, role } });
  expect(shown).toMatchObject({ status: 200, heading: 'Shop', links });
  expect(shown.body.includes('role="search"')).toBe(canSearch);
});

test.each([
  [undefined, 'npm run console prints a new one.'],
  ['postgres://db.test', 'npm run console <e-mail address> prints a new one.'],
])('a link that cannot be used names the whole command, which on %s is short', async (databaseUrl, says) => {
  const shown = await show(finishSignIn, { query: 'link=nonsense', ...(databaseUrl && { databaseUrl }) });
  expect(shown).toMatchObject({ status: 403, heading: 'This link cannot be used' });
  expect(shown.text).toContain(says);
});
