/** What a login by code asks of Postgres: each statement is a round trip, and each that writes is a commit. */
import { randomUUID } from 'node:crypto';
import { afterAll, expect, it, vi } from 'vitest';
import { Database } from '../../src/database/pool/database.ts';
import { formOf, ReadDetector } from '../../src/database/pool/statement-runner.ts';
import { LAYOUT } from '../support/database.ts';
import { beginLogin, LoginBrowser } from '../support/login-browser.ts';
import { LoginFixture } from '../support/login-fixture.ts';
import { clientsOf, createTestUser } from '../support/service.ts';
import { describeStatement } from '../support/statement-record.ts';

const fixture = await LoginFixture.open();
afterAll(fixture.close);
const { service, tenant, mailbox } = fixture;

/** Returns the names of the statements of `work`, those that write with a star. */
async function recordWhile(work: () => Promise<unknown>): Promise<readonly string[]> {
  const { run } = Database.prototype;
  const reads = new ReadDetector();
  const sent: string[] = [];
  const spy = vi.spyOn(Database.prototype, 'run').mockImplementation(function (this: Database, ...given) {
    const [statement, parameters] = given;
    const form = formOf(statement, this.layout);
    // Jobs belong to no request.
    if (form && 'auditRequestId' in parameters)
      sent.push(`${describeStatement(form).name}${reads.isRead(form) ? '' : ' *'}`);
    return run.apply(this, given) as never;
  });
  await work().finally(() => spy.mockRestore());
  return sent;
}

async function askForCode(email: string) {
  const browser = new LoginBrowser(service);
  const login = await beginLogin(service, tenant);
  const page = await browser.open(login.path);
  return { browser, page: await browser.submit(page, '/login/email', { email }) };
}

/** On Citus no statement asks more than one server: a table, or the bucket of a rate limit, may be on any. */
const FACTS_BY_TABLE = [
  'select_user_by_email',
  'select_known_origins',
  'select_muted_address',
  'select_latest_login_code',
];

const UNTIL_THE_CODE = [
  'insert_login_intent *',
  'select_login_intent',
  'select_login_intent',
  ...(LAYOUT === 'whole' ? ['select_address_facts'] : FACTS_BY_TABLE),
  ...(LAYOUT === 'whole' ? [] : ['select_full_rate_limit', 'take_permits *'].flatMap((name) => Array(5).fill(name))),
  'insert_login_code *',
  'select_erased_user',
  'select_login_intent',
  'select_latest_login_code',
];

const COMPLETION_BY_TABLE = [
  'count_login_code_attempt *',
  'complete_login_intent_by_proof *',
  'mark_email_verified *',
  'upsert_known_origins *',
  'select_erased_user',
  'select_session_origin',
];

it('takes 14 statements, of which four commit, unless tables are distributed', async () => {
  const { email } = await createTestUser(service);
  const sent = await recordWhile(async () => {
    const { browser, page } = await askForCode(email);
    const { location = '' } = await browser.submit(page, '/login/code', { code: mailbox.codeFor(email) });
    const authToken = new URL(location).searchParams.get('authToken') ?? '';
    await clientsOf(service, tenant).auth.exchangeToken({ authToken });
  });
  expect(sent).toEqual([
    ...UNTIL_THE_CODE,
    'select_login_intent',
    'select_latest_login_code',
    ...(LAYOUT === 'whole' ? ['redeem_login_code *', 'select_erased_user'] : COMPLETION_BY_TABLE),
    'find_or_begin_session *',
    'select_late_session',
  ]);
});

it('takes as many until the code for an address without a user', async () => {
  expect(await recordWhile(() => askForCode(`${randomUUID()}@example.com`))).toEqual(UNTIL_THE_CODE);
});
