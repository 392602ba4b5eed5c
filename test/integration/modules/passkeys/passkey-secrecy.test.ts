/** Until the code is right, nothing tells whether an address has a passkey: no reply, no size, no statement. */
import { afterAll, expect, it } from 'vitest';
import { LoginBrowser, type LoginPage } from '../../../support/login-browser.ts';
import { LoginFixture } from '../../../support/login-fixture.ts';
import { wrongCode } from '../../../support/mail-server.ts';
import { SoftwarePasskey } from '../../../support/passkey.ts';
import { savePasskey, TO_PASSKEYS } from '../../../support/passkey-page.ts';
import { PUBLIC_URL, type TestUser } from '../../../support/service.ts';
import { StatementExplainer } from '../../../support/statement-explainer.ts';

const fixture = await LoginFixture.open({ config: { loginMethods: ['email', 'passkey'] } });
const { clock, mailbox, service } = fixture;
afterAll(() => fixture.close());

/** Returns a user who has signed in by code, and has a passkey or none. */
async function createUser(hasPasskey: boolean): Promise<TestUser> {
  const asked = await fixture.askForCode();
  const list = await asked.browser.submit(asked.codePage, '/login/code', { code: asked.code, ...TO_PASSKEYS });
  if (hasPasskey) await savePasskey({ browser: asked.browser, page: list }, new SoftwarePasskey(), PUBLIC_URL);
  return asked.user;
}

/** Returns the reply as everybody would get it, and its size. */
function describe({ status, headers, body, heading, alert, forms }: LoginPage) {
  const names = forms.map(({ action, fields }) => [action, ...Object.keys(fields)]);
  return { status, headers: Object.keys(headers).sort(), heading, alert, forms: names, bytes: Buffer.byteLength(body) };
}

/** Signs in from a new browser up to the right code, and returns what can be seen of it, and the statements. */
async function observe({ email }: Pick<TestUser, 'email'>) {
  clock.advance(60_000);
  const { page, browser } = await fixture.arrive({ browser: new LoginBrowser(service) });
  using explainer = new StatementExplainer(service.database, { modes: [] });
  const codePage = await browser.submit(page, '/login/email', { email, passkey: '1' });
  const wrong = await browser.submit(codePage, '/login/code', {
    code: wrongCode(mailbox.codeFor(email)),
    passkey: '1',
  });
  const again = await browser.submit(wrong, '/login/email/again', { passkey: '1' });
  const replies = [page, codePage, wrong, again].map(describe);
  // Jobs may run at any time.
  const ofJobs = /batch|^delete_sessions$|expiry_mark|due_|hourly_count|last_used|unsent_messages/;
  const statements = explainer.explained.map(({ name }) => name).filter((name) => !ofJobs.test(name));
  return { replies, statements };
}

it('replies, their sizes and the statements are the same with a passkey, and without', async () => {
  const [owner, other] = [await createUser(true), await createUser(false)];
  const seen = await observe(owner);
  expect(seen.statements.length).toBeGreaterThan(5);
  expect(seen.replies.map(({ heading }) => heading)).toContain('Check your e-mail');
  expect(await observe(other)).toEqual(seen);
});
