/** Logins of applications that link to the passkeys of their users: `prompt` `PASSKEYS` of GenerateAuthUrl. */
import { afterAll, describe, expect, it } from 'vitest';
import { createChallenge } from '../../../../src/modules/passkeys/domain/challenge.ts';
import { toUserHandle } from '../../../../src/modules/passkeys/domain/creation-options.ts';
import { createRelyingParty } from '../../../../src/modules/passkeys/domain/relying-party.ts';
import {
  type BegunLogin,
  beginLogin,
  formOf,
  type LoginBrowser,
  type LoginPage,
} from '../../../support/login-browser.ts';
import { LoginFixture } from '../../../support/login-fixture.ts';
import { newBrowser } from '../../../support/new-browser.ts';
import { SoftwarePasskey } from '../../../support/passkey.ts';
import { savePasskey, sendPasskey } from '../../../support/passkey-page.ts';
import { adminClient, createTenant, createTestUser, PUBLIC_URL, REDIRECT_URI } from '../../../support/service.ts';

const fixture = await LoginFixture.open({ config: { loginMethods: ['wallet', 'email', 'passkey'] } });
const { clock, service } = fixture;
const { sql } = service.database;
const admin = adminClient(service);
afterAll(() => fixture.close());

const LIST = 'Your passkeys';
const prompt = 'PASSKEYS';
const isToApplication = ({ location }: LoginPage) => location?.startsWith(`${REDIRECT_URI}?authToken=`);

describe('the passkeys are shown before the application', () => {
  it('after a code: one is added, and signs in to the next such login', async () => {
    const passkey = new SoftwarePasskey();
    const login = await beginLogin(service, fixture.tenant, { prompt });
    const { browser, enter, code } = await fixture.askForCode({ login });
    const list = await enter(code);
    expect(list).toMatchObject({ status: 200, heading: LIST });
    expect(await fixture.isCompleted(login.loginIntentId)).toBe(true);
    // A form that is sent twice leads to the same page.
    expect((await enter(code)).heading).toBe(LIST);
    const added = await savePasskey({ browser, page: list }, passkey, PUBLIC_URL);
    expect(added).toMatchObject({ status: 200, heading: LIST, alert: '' });
    expect(isToApplication(await browser.submit(added, '/login'))).toBe(true);

    const next = await fixture.arrive({ login: await beginLogin(service, fixture.tenant, { prompt }) });
    const again = await sendPasskey(next, passkey, PUBLIC_URL);
    expect(again).toMatchObject({ status: 200, heading: LIST });
    expect(again.body).toContain('Google Password Manager');
  });

  it('after a wallet', async () => {
    const { wallet } = await fixture.createWalletUser();
    const login = await beginLogin(service, fixture.tenant, { prompt });
    const { message, send } = await fixture.askForMessage(wallet.address, { login });
    expect(await send(wallet.sign(message))).toMatchObject({ status: 200, heading: LIST });
  });

  it('also if the form does not say so', async () => {
    const login = await beginLogin(service, fixture.tenant, { prompt });
    const { browser, codePage, code } = await fixture.askForCode({ login });
    const { token = '', intent = '' } = formOf(codePage, '/login/code').fields;
    expect(await browser.post('/login/code', { token, intent, code })).toMatchObject({ heading: LIST });
  });

  it('but not where nobody can use passkeys', async () => {
    await using replica = await fixture.startReplica({ loginMethods: ['email'] });
    const login = await beginLogin(replica, fixture.tenant, { prompt });
    const { enter, code } = await fixture.askForCode({ at: replica, login });
    expect(isToApplication(await enter(code))).toBe(true);
    expect(isToApplication(await enter(code))).toBe(true);
  });
});

describe('a browser with a remembered sign-in', () => {
  async function signIn() {
    const shared = await createTenant(service);
    await admin.updateApplication({ applicationId: shared.id, singleSignOn: true });
    const asked = await fixture.askForCode({ of: shared, user: await createTestUser(service) });
    await asked.enter(asked.code);
    clock.advance(1);
    return { ...asked, shared };
  }

  /** Continues the sign-in with the form of another login, and returns where the browser is then. */
  async function insist(browser: LoginBrowser, login: BegunLogin) {
    const { forms } = await browser.open(login.path);
    const { token = '' } = forms.find(({ fields }) => fields.token)?.fields ?? {};
    return { token, reply: await browser.post('/login/continue', { intent: login.loginIntentId, token }) };
  }

  it.each(['prompt', 'Manage passkeys'])('is asked for a new one on the way to the passkeys by %s', async (way) => {
    const { browser, user, shared } = await signIn();
    const login = await beginLogin(service, shared, way === 'prompt' ? { prompt } : {});
    const page = await browser.open(way === 'prompt' ? login.path : `${login.path}&then=passkeys`);
    expect(page.forms.map(({ action }) => action)).not.toContain('/login/continue');
    const codePage = await browser.submit(page, '/login/email', { email: user.email });
    const code = fixture.mailbox.codeFor(user.email);
    expect((await browser.submit(codePage, '/login/code', { code })).heading).toBe(LIST);
  });

  it('gets to no passkeys by it, and cannot add one', async () => {
    const { browser, user, shared } = await signIn();
    const login = await beginLogin(service, shared, { prompt });
    const { token, reply } = await insist(browser, login);
    expect(isToApplication(reply)).toBe(true);
    const intent = login.loginIntentId;
    for (const path of ['passkeys', 'passkey/new'])
      expect(isToApplication(await browser.open(`/login/${path}?intent=${intent}`))).toBe(true);

    const passkey = new SoftwarePasskey();
    const { keys, rpId, origin } = createRelyingParty(
      `${PUBLIC_URL}/login`,
      undefined,
      service.config.secrets.encryptionKeys ?? [],
    );
    const add = async (loginIntentId: string) => {
      const [row] = await sql`select browser_digest as digest from login_intents where id = ${loginIntentId}`;
      const by = newBrowser({ digest: row?.digest });
      const use = { purpose: 'passkey create', loginIntentId, browser: by, userId: user.id } as const;
      const challenge = createChallenge(keys, use, clock.read());
      const credential = passkey.create({ rpId, origin, challenge, userHandle: toUserHandle(user.id) });
      await browser.post('/login/passkey/new', { intent: loginIntentId, token, credential });
      return (await admin.listPasskeys({ userId: user.id })).passkeys.length;
    };
    expect(await add(intent)).toBe(0);
    // The same form works after a real sign-in.
    const asked = await fixture.askForCode({
      browser,
      user,
      login: await beginLogin(service, shared, { prompt: 'LOGIN' }),
    });
    await asked.enter(asked.code);
    expect(await add(asked.login.loginIntentId)).toBe(1);
  });
});
