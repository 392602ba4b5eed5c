/** Single conditions of the way of a request through the console. What operators see: sign-in.test.ts, routes.test.ts. */
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { BlockList } from 'node:net';
import { join } from 'node:path';
import { connect } from 'node:tls';
import { afterAll, describe, expect, test } from 'vitest';
import { parseOperators } from '../../../../src/config/operators.ts';
import { ServiceError } from '../../../../src/domain/core/errors.ts';
import { deriveConsoleKeys } from '../../../../src/modules/console/keys.ts';
import { openConsole } from '../../../../src/modules/console/open-console.ts';
import { SentForms } from '../../../../src/modules/console/sent-forms.ts';
import { openSignInLink } from '../../../../src/modules/console/sign-in-link.ts';
import { renewOperatorSession } from '../../../../src/modules/console/signed-in-operator.ts';
import { createCertificate } from '../../../support/certificate.ts';
import { MINUTE } from '../../../support/clock.ts';
import { ConsoleBrowser, ConsoleFixture, OPERATORS } from '../../../support/console-fixture.ts';
import { createDirectory } from '../../../support/directory.ts';
import { openDomain } from '../../../support/domain-scene.ts';
import { RecordedLog } from '../../../support/recorded-log.ts';
import { createTestUser, PUBLIC_URL } from '../../../support/service.ts';

const log = new RecordedLog();
const fixture = await ConsoleFixture.open({ logger: log.logger });
afterAll(() => fixture.close());
const { clock, service } = fixture;
const { sql } = service.database;
const { callAt } = await openDomain();

describe('a request', () => {
  test.each(['/api/users', '/usher.v1.AdminService/GetUser', '/oidc/token', '/admin/users'])(
    'that was meant for the API, %s, learns where the API is',
    async (path) => {
      const { status, body } = await new ConsoleBrowser(fixture.url).open(path);
      const message = `This is the port of the console; the API is at ${PUBLIC_URL}`;
      expect({ status, ...JSON.parse(body) }).toEqual({ status: false, message, reason: 'NOT_FOUND' });
      expect(status).toBe(404);
    },
  );

  test('for a page like that of the API is answered with a page', async () => {
    const { headers, heading } = await new ConsoleBrowser(fixture.url).open('/apiary');
    expect(headers['content-type']).toContain('text/html');
    expect(heading).toBe('Not found');
  });

  test('of another origin is refused as a form or as a part of a page', async () => {
    const browser = await fixture.signIn(OPERATORS.viewer);
    const cross = { 'sec-fetch-site': 'cross-site' };
    const form = await browser.post('/renew', {}, cross);
    expect(form).toMatchObject({ status: 403, heading: 'This form was not sent from the console' });
    const part = await browser.open('/users', { ...cross, 'sec-fetch-dest': 'image' });
    expect(part).toMatchObject({ status: 403, heading: 'Pages of other origins cannot load this page' });
  });

  test('that fails has the menu if the operator is signed in', async () => {
    const browser = await fixture.signIn(OPERATORS.viewer);
    const reply = await browser.open(`/users/${randomUUID()}`);
    expect(reply).toMatchObject({ status: 404, heading: 'User not found' });
    expect(reply.body).toContain('<nav aria-label="Console">');
  });

  test.each([
    ['/renew', '/login?to=%2F'],
    [`/users/${randomUUID()}/end-sessions`, undefined],
    ['/health/test-mail', '/login?to=%2Fhealth'],
  ])(
    'by a form of %s, whose session has ended, leads back to its page or the nearest above',
    async (path, location) => {
      const page = `/login?${new URLSearchParams({ to: path.replace('/end-sessions', '') })}`;
      expect((await new ConsoleBrowser(fixture.url).post(path)).location).toBe(location ?? page);
    },
  );

  test.each([
    ['/login', { prompt: '', max_age_seconds: null, required_assurance: 1 }],
    ['/login?fresh', { prompt: 'LOGIN', max_age_seconds: 900, required_assurance: 1 }],
    ['/login?passkey', { prompt: '', max_age_seconds: null, required_assurance: 3 }],
  ])('for a sign-in, %s, demands of it what the page needs', async (path, demands) => {
    const { location = '' } = await new ConsoleBrowser(fixture.url).open(path);
    const [login] = await sql`
      select prompt, max_age_seconds, required_assurance from login_intents
      where id = ${new URL(location).searchParams.get('intent')}`;
    expect(login).toEqual(demands);
  });

  test('that is answered leaves no error in the log', async () => {
    const { length } = log.lines;
    expect((await new ConsoleBrowser(fixture.url).open('/login?out')).heading).toBe('You are signed out');
    await new ConsoleBrowser(fixture.url).open('/login');
    expect(log.parsed.slice(length).filter(({ level }) => level > 30)).toEqual([]);
  });

  test('by a form that fails by a defect is no refusal of its values, and the log says why', async () => {
    const browser = await fixture.signIn(OPERATORS.admin);
    await sql`alter table users add constraint refused check (name <> 'Defect')`;
    const typed = { email: 'defect@example.com', name: 'Defect' };
    const reply = await browser.post('/users/new', typed).finally(() => sql`alter table users drop constraint refused`);
    expect(reply).toMatchObject({ status: 500, heading: 'Something went wrong in Usher' });
    const line = log.parsed.find(({ msg }) => msg === 'unexpected error');
    expect(line?.err).toMatchObject({ type: 'PostgresError', constraint: 'refused' });
  });

  test('by a form that Usher could not serve keeps what was typed, to be sent again', async () => {
    const browser = await fixture.signIn(OPERATORS.admin);
    const user = await createTestUser(service);
    await sql`create function leave_out() returns trigger language plpgsql as 'begin return null; end'`;
    await sql`create trigger leave_out before insert on recovery_links for each row execute function leave_out()`;
    const path = `/users/${user.id}/recovery`;
    const typed = { reason: 'Called from a known number.', expiresInMinutes: '60', delayHours: '' };
    const reply = await browser.post(path, typed).finally(() => sql`drop trigger leave_out on recovery_links`);
    expect(reply).toMatchObject({ status: 503, heading: expect.stringContaining('Usher is overloaded') });
    expect(reply.text).toContain('What you typed is kept here.');
    expect(reply.forms.find(({ action }) => action === path)?.fields).toMatchObject({ reason: typed.reason });
  });

  test('is refused beside twenty that wait for Postgres', async () => {
    const browser = await fixture.signIn(OPERATORS.viewer);
    await browser.open('/users');
    const { replies } = await sql.begin(async (locking) => {
      await locking`lock table users in access exclusive mode`;
      const replies = Array.from({ length: 21 }, () => browser.open('/users'));
      expect(await Promise.race(replies)).toMatchObject({
        status: 503,
        heading: expect.stringContaining('overloaded'),
      });
      return { replies };
    });
    await Promise.all(replies);
    expect(log.callLines.filter(({ detail }) => detail === 'overloaded')).toHaveLength(1);
  });
});

describe('the session of an operator', () => {
  test('has a new cookie when it is renewed, and none before', async () => {
    const browser = await fixture.signIn(OPERATORS.viewer);
    expect((await browser.open('/users')).cookies).toEqual([]);
    clock.advance(10 * MINUTE);
    expect((await browser.open('/users')).cookies).toEqual([expect.stringMatching(/^usher-console=/)]);
  });

  test('needs a cookie that the console may have given', async () => {
    const browser = new ConsoleBrowser(fixture.url);
    browser.cookies.set('usher-console', 'nonsense');
    expect(await browser.open('/users')).toMatchObject({ status: 303, location: '/login?to=%2Fusers' });
  });

  test('is over a moment after it has shown a page, once the user is gone', async () => {
    const browser = await fixture.signIn(OPERATORS.support);
    expect((await browser.open('/users')).status).toBe(200);
    await sql`update users set deleted_at = now() where email = ${OPERATORS.support}`;
    expect(await browser.open('/users')).toMatchObject({ status: 303, location: '/login?to=%2Fusers' });
  });

  test('is recent for 15 minutes after the sign-in, to the second', async () => {
    clock.advance(1_999 - (clock.read().getTime() % 1_000));
    const browser = await fixture.signIn(OPERATORS.admin);
    const path = `/applications/${fixture.tenant.id}/delete`;
    await browser.open('/users');
    clock.advance(8 * MINUTE);
    await browser.open('/users');
    clock.advance(7 * MINUTE - 1);
    expect((await browser.open(path)).status).toBe(200);
    clock.advance(1);
    expect((await browser.open(path)).location).toMatch(/^\/login\?.*fresh/);
  });

  test.each([
    ['that it cannot be renewed is no failure', new ServiceError('SESSION_EXPIRED'), undefined],
    ['a defect is one', new Error('defect'), 'defect'],
  ])('%s', async (_, error, message) => {
    const run = () => Promise.reject(error);
    const renewed = renewOperatorSession(
      undefined as never,
      { run, now: new Date(), application: { id: randomUUID() } } as never,
      { liveSessions: {}, notices: undefined } as never,
      { sessionId: randomUUID() } as never,
    ).then(
      () => undefined,
      (thrown: Error) => thrown.message,
    );
    expect(await renewed).toBe(message);
  });
});

test('the answers to the last fifty forms are known, and no form is done twice', async () => {
  const forms = new SentForms();
  const keys = [Buffer.alloc(32)];
  const context = { path: '/users/new' };
  const call = callAt();
  const sending = randomUUID();
  let runs = 0;
  const send = (fields: Record<string, string>) =>
    forms.answer(
      {
        call,
        context,
        form: new URLSearchParams(fields),
        operator: { userId: 'ada' },
        parts: { cookies: { keys } },
      } as never,
      '/users',
      async () => ({ redirect: `/run-${++runs}` }),
    );
  for (let at = 1; at <= 51; at++) expect(await send({ sending, at: String(at) })).toEqual({ redirect: `/run-${at}` });
  for (let at = 51; at >= 2; at--) expect(await send({ sending, at: String(at) })).toEqual({ redirect: `/run-${at}` });
  expect(await send({ sending, at: '1' })).toMatchObject({ status: 409, title: 'This form was sent before' });
  // A form without an ID is done each time.
  expect(await send({ at: '1' })).toEqual({ redirect: '/run-52' });
  expect(await send({ at: '1' })).toEqual({ redirect: '/run-53' });
});

describe('the port', () => {
  const open = async (given: object = {}) => {
    const log = new RecordedLog();
    const dataDir = await createDirectory();
    const config = { ...service.config, consolePort: 0, consoleUrl: undefined, dataDir, ...given };
    const { secrets } = service.config;
    const core = {
      api: {},
      databaseUrl: '',
      secrets,
      trustedProxies: new BlockList(),
      logger: log.logger,
      clock: clock.read,
    };
    const opened = await openConsole(config, core as never);
    const [line] = log.parsed.filter(({ msg }) => msg === 'console listening');
    const written = await readFile(join(dataDir, 'console-url'), 'utf8').catch(() => undefined);
    return { opened, line, written, port: Number(new URL(String(line?.url)).port) };
  };

  test('is in the log in production, and there is nothing to greet with', async () => {
    const { opened, line, written } = await open();
    await using _ = opened as AsyncDisposable;
    expect(line).toMatchObject({ level: 30, consoleUrl: line?.url });
    expect({ written, greeting: opened.greeting }).toEqual({});
  });

  test('is that of CONSOLE_URL in browsers', async () => {
    const { opened, line } = await open({ consoleUrl: 'https://console.test' });
    await using _ = opened as AsyncDisposable;
    expect(line).toMatchObject({ consoleUrl: 'https://console.test' });
  });

  test.each([
    ['an admin', {}, OPERATORS.admin],
    ['nobody who could sign in', { operators: parseOperators('vera@example.com viewer\n') }, undefined],
  ])('on the embedded Postgres is in a file for the command, and greets %s', async (_, given, email) => {
    const { opened, line, written } = await open({ databaseUrl: undefined, ...given });
    await using __ = opened as AsyncDisposable;
    expect(line).toMatchObject({ level: 20 });
    expect(written).toBe(line?.consoleUrl);
    expect(opened.greeting?.url).toBe(email && written);
    const [link = ''] = /\S+$/.exec(opened.greeting?.text ?? '') ?? [];
    const keys = deriveConsoleKeys(service.config.secrets.encryptionKeys ?? []);
    const token = link && (new URL(link).searchParams.get('link') ?? '');
    expect(openSignInLink(keys, token, clock.read())?.email).toBe(email);
  });

  test('has a renewed certificate for new connections, and is closed at the end', async () => {
    const [first, renewed] = [await createCertificate(), await createCertificate('ec', undefined, ['renewed.test'])];
    const { opened, port } = await open({ tls: first });
    const readName = async () => {
      const socket = connect({ port, host: '127.0.0.1', rejectUnauthorized: false });
      await once(socket, 'secureConnect');
      const { subject } = socket.getPeerCertificate();
      socket.destroy();
      return subject.CN;
    };
    expect(await readName()).toBe('localhost');
    opened.setCertificate?.(renewed);
    expect(await readName()).toBe('renewed.test');
    await opened[Symbol.asyncDispose]?.();
    await expect(readName()).rejects.toThrow('ECONNREFUSED');
  });
});
