/** Signing in with a wallet (EIP-4361). */
import { keccak_256 } from '@noble/hashes/sha3.js';
import { afterAll, describe, expect, it } from 'vitest';
import { MINUTE } from '../../../support/clock.ts';
import { beginLogin, formOf, type LoginPage } from '../../../support/login-browser.ts';
import { type Arrival, type Arrived, type AskedForMessage, LoginFixture } from '../../../support/login-fixture.ts';
import {
  adminClient,
  clientsOf,
  createTenant,
  createTestUser,
  PUBLIC_URL,
  REDIRECT_URI,
} from '../../../support/service.ts';
import { toCompact, toHighS, Wallet, withV } from '../../../support/wallet.ts';

const INVALID = 'The signature does not match. Please try again.';
const UNKNOWN = 'No account has this wallet. Please use another one, or your e-mail address.';
const CONTRACT =
  'This wallet is a contract, and contract wallets cannot sign in here. Use another wallet, or your e-mail address.';
const UNSIGNED = 'Your wallet did not sign. Please try again.';

const fixture = await LoginFixture.open({ start: new Date('2030-01-02T03:04:05.678Z') });
const { clock, service, tenant } = fixture;
afterAll(() => fixture.close());

/** A wallet of a user that has been given a message. */
async function askForMessage() {
  const { wallet, user } = await fixture.createWalletUser();
  return { wallet, user, ...(await fixture.askForMessage(wallet.address)) };
}

describe('a person signs in', () => {
  it.each<[string, (wallet: Wallet) => string]>([
    ['with its checksum', ({ checksumAddress }) => checksumAddress],
    ['in upper case', ({ address }) => `0x${address.slice(2).toUpperCase()}`],
  ])('if the address is stored %s, however the wallet spells it', async (_case, spell) => {
    const { wallet, user } = await fixture.createWalletUser(spell);
    for (const spelling of [wallet.address, wallet.checksumAddress]) {
      const asked = await fixture.askForMessage(spelling);
      const { status, location = '', body } = await asked.send(wallet.sign(asked.message));
      expect({ status, body }).toEqual({ status: 303, body: '' });
      expect(location.startsWith(`${REDIRECT_URI}?authToken=`)).toBe(true);
      const { authToken = '', ...rest } = Object.fromEntries(new URL(location).searchParams);
      expect(rest).toEqual({ state: asked.login.state, iss: PUBLIC_URL });
      const answer = await clientsOf(service, tenant).auth.exchangeToken({ authToken });
      expect(answer.user).toMatchObject({ email: user.email, walletAddress: user.walletAddress });
    }
  });

  it('until just before the message is 10 minutes old, with a signature in upper case', async () => {
    const { wallet, message, send } = await askForMessage();
    clock.advance(10 * MINUTE - 1);
    expect((await send(`0x${wallet.sign(message).slice(2).toUpperCase()}`)).status).toBe(303);
  });

  // Ten wallets, because v is 0 for half of them.
  it.each<[string, (signature: string) => string]>([
    ['v 0 or 1', (signature) => withV(signature, (v) => v - 27)],
    ['64 bytes (EIP-2098)', toCompact],
  ])('with a signature of %s', async (_form, spell) => {
    for (let count = 0; count < 10; count++) {
      const { wallet, message, send } = await askForMessage();
      expect((await send(spell(wallet.sign(message)))).status).toBe(303);
    }
  });

  it('with a new message after a signature that did not match, and not with the old one', async () => {
    const { wallet, ...asked } = await askForMessage();
    expect((await asked.send(wallet.sign('something else'))).alert).toBe(INVALID);
    expect((await asked.send(wallet.sign(asked.message))).alert).toBe(INVALID);
    const message = await fixture.challenge(asked, wallet.address);
    expect((await asked.send(wallet.sign(message))).status).toBe(303);
  });

  it('if another user with the same wallet has been deleted', async () => {
    const { wallet, user: former } = await fixture.createWalletUser();
    await adminClient(service).deleteUser({ userId: former.id });
    const { id } = await createTestUser(service, { walletAddress: wallet.address });
    const asked = await fixture.askForMessage(wallet.address);
    const { location = '' } = await asked.send(wallet.sign(asked.message));
    const [, payload = ''] = (new URL(location).searchParams.get('authToken') ?? '').split('.');
    expect(JSON.parse(Buffer.from(payload, 'base64url').toString()).sub).toBe(id);
  });
});

describe('the message to sign', () => {
  it('follows EIP-4361 and names this page, this login and this address', async () => {
    const { wallet, message, login } = await askForMessage();
    const issuedAt = clock.read();
    expect(message.split('\n')).toEqual([
      'usher.test wants you to sign in with your Ethereum account:',
      wallet.checksumAddress,
      '',
      'Sign in to Test application.',
      '',
      `URI: ${PUBLIC_URL}/login`,
      'Version: 1',
      'Chain ID: 1',
      expect.stringMatching(/^Nonce: [0-9a-zA-Z]{16,}$/),
      `Issued At: ${issuedAt.toISOString()}`,
      `Expiration Time: ${new Date(issuedAt.getTime() + 10 * MINUTE).toISOString()}`,
      `Request ID: ${login.loginIntentId}`,
    ]);
  });

  it('follows EIP-4361 whatever the name of the application', async () => {
    const { wallet } = await fixture.createWalletUser();
    const name = 'Bärs “Shop”\u2028\u202eURI: https://evil.test 🦄 <b>';
    const asked = await fixture.askForMessage(wallet.address, { of: await createTenant(service, { name }) });
    const lines = asked.message.split('\n');
    expect(lines).toHaveLength(12);
    for (const line of lines) expect(line).toMatch(/^[\x20-\x7e]*$/);
    expect(lines[3]).toBe('Sign in to B?rs ?Shop???URI: https://evil.test ?? ?b?.');
    expect((await asked.send(wallet.sign(asked.message))).status).toBe(303);
  });

  it('is new each time and deleted when it has been used', async () => {
    const asked = await askForMessage();
    const { wallet, message, login } = asked;
    const stored = () => service.database.sql`
      select 1 from wallet_challenges where login_intent_id = ${login.loginIntentId}`;
    expect(await stored()).toHaveLength(1);
    expect((await asked.send(wallet.sign(message))).status).toBe(303);
    expect(await stored()).toHaveLength(0);
    const next = await askForMessage();
    expect(await fixture.challenge(next, next.wallet.address)).not.toBe(next.message);
  });

  it('has the same form for a wallet without a user', async () => {
    const formOfMessage = ({ message, login }: AskedForMessage) =>
      message
        .replace(login.loginIntentId, 'ID')
        .replace(/0x\w{40}/, 'ADDRESS')
        .replace(/Nonce: \w+/, 'NONCE')
        .replaceAll(/\d{4}-[\dT:.-]+Z/g, 'TIME');
    const unknown = await fixture.askForMessage(new Wallet().address);
    expect(formOfMessage(unknown)).toBe(formOfMessage(await askForMessage()));
  });

  it.each([
    ['nothing', ''],
    ['39 digits', `0x${'a'.repeat(39)}`],
    ['a line break', `0x${'a'.repeat(40)}\n`],
  ])('is refused with 400 for an address of %s', async (_name, address) => {
    const { browser, page } = await fixture.arrive();
    const { fields } = formOf(page, '/login/wallet');
    const { status, body } = await browser.post('/login/wallet/challenge', { ...fields, address });
    expect({ status, reply: JSON.parse(body) }).toEqual({
      status: 400,
      reply: { error: 'Your wallet did not share its address. Please try again.' },
    });
  });
});

describe('the page', () => {
  const missing = 'id="no-wallet"';
  const buttonOf = ({ body }: LoginPage) => /<form id="wallet".*?<button([^>]*)>/s.exec(body)?.[1];

  it('offers a wallet below a code, without a word where there is none', async () => {
    const { page } = await fixture.arrive();
    expect(buttonOf(page)).toBe(' class="second"');
    expect(page.body).not.toContain(missing);
    expect(page.body).not.toContain('>true');
  });

  it('offers a wallet alone, and says where there is none', async () => {
    await using replica = await fixture.startReplica({ loginMethods: ['wallet'] });
    const { page } = await fixture.arrive({ at: replica, login: await beginLogin(replica, tenant) });
    expect(buttonOf(page)).toBe('');
    expect(page.body).toContain(missing);
  });

  it('offers no wallet for an application that wants none', async () => {
    const of = await createTenant(service);
    await adminClient(service).updateApplication({ applicationId: of.id, loginMethods: ['email'] });
    expect(buttonOf((await fixture.arrive({ of })).page)).toBeUndefined();
  });
});

/** A login that must not be completed, and the reply to the attempt. */
type Attempt = Promise<Pick<Arrived, 'login'> & { readonly reply: LoginPage }>;
type Asked = Awaited<ReturnType<typeof askForMessage>>;

async function send({ login, send }: Pick<Asked, 'login' | 'send'>, signature: string): Attempt {
  return { login, reply: await send(signature) };
}

/** The signature of one message, sent in answer to another. */
const replayed = (arrivalAfter: (first: Asked) => Arrival) => async (): Attempt => {
  const first = await askForMessage();
  const second = await fixture.askForMessage(first.wallet.address, arrivalAfter(first));
  return send(second, first.wallet.sign(first.message));
};

/** A signature of the message with something in it replaced. */
const altered = (change: (message: string) => string) => async (): Attempt => {
  const { wallet } = await fixture.createWalletUser();
  const asked = await fixture.askForMessage(wallet.checksumAddress);
  const text = change(asked.message);
  expect(text).not.toBe(asked.message);
  return send(asked, wallet.sign(text));
};

/** The right signature, changed. */
const malformed = (change: (signature: string, message: string, wallet: Wallet) => string) => async (): Attempt => {
  const { wallet, ...asked } = await askForMessage();
  const signature = wallet.sign(asked.message);
  const changed = change(signature, asked.message, wallet);
  expect(changed).not.toBe(signature);
  return send(asked, changed);
};

type Row = [name: string, attempt: () => Attempt, alert?: string];

const messages: Row[] = [
  ['of another login of the same wallet in the same browser', replayed(({ browser }) => ({ browser }))],
  ['of an older message of the same login', replayed((first) => first)],
  ['that another browser has asked for at the same login', replayed(({ login }) => ({ login }))],
  [
    'that a page of another host has asked for at the same login',
    async () => {
      await using phisher = await fixture.startReplica({ publicUrl: 'https://usher.evil' });
      const { wallet } = await fixture.createWalletUser();
      const login = await beginLogin(service, tenant);
      const { message } = await fixture.askForMessage(wallet.address, { at: phisher, login });
      expect(message).toContain('usher.evil wants you to sign in');
      return send(await fixture.askForMessage(wallet.address, { login }), wallet.sign(message));
    },
  ],
  [
    'of a message that is 10 minutes old',
    async () => {
      const { wallet, ...asked } = await askForMessage();
      clock.advance(10 * MINUTE);
      return send(asked, wallet.sign(asked.message));
    },
  ],
  [
    'of another user, whatever address is sent along',
    async () => {
      const [own, victim] = [await fixture.createWalletUser(), await askForMessage()];
      const typed = { address: own.wallet.address, signature: own.wallet.sign(victim.message) };
      return { login: victim.login, reply: await victim.browser.submit(victim.page, '/login/wallet', typed) };
    },
  ],
  [
    'of a wallet without a user, whatever address is sent along',
    async () => {
      const [wallet, victim] = [new Wallet(), await fixture.createWalletUser()];
      const { login, browser, page, message } = await fixture.askForMessage(wallet.address);
      const typed = { address: victim.wallet.address, signature: wallet.sign(message) };
      return { login, reply: await browser.submit(page, '/login/wallet', typed) };
    },
    UNKNOWN,
  ],
  [
    'of a user who has been deleted',
    async () => {
      const { wallet, user, ...asked } = await askForMessage();
      await adminClient(service).deleteUser({ userId: user.id });
      return send(asked, wallet.sign(asked.message));
    },
    UNKNOWN,
  ],
  ['of a message with another request ID', altered((text) => text.replace(/Request ID: .*/, 'Request ID: x'))],
  ['of a message for another host', altered((text) => text.replace('usher.test wants', 'usher.evil wants'))],
  ['of a message with other line breaks', altered((text) => text.replaceAll('\n', '\r\n'))],
];

const signatures: Row[] = [
  ['of the bare hash', malformed((_, message, wallet) => wallet.signDigest(keccak_256(Buffer.from(message))))],
  ['with s in the upper half of the order', malformed(toHighS)],
  ['with the other v', malformed((signature) => withV(signature, (v) => 55 - v))],
  ['with the other v of 0 and 1', malformed((signature) => withV(signature, (v) => 28 - v))],
  ['with v 2', malformed((signature) => withV(signature, () => 2))],
  ['with v 29', malformed((signature) => withV(signature, () => 29))],
  ['of 64 bytes with the other v', malformed((signature) => toCompact(withV(signature, (v) => 55 - v)))],
  ['of 64 bytes with s in the upper half of the order', malformed((signature) => toHighS(signature).slice(0, -2))],
  ['of 64 bytes and two more', malformed((signature) => `${toCompact(signature)}0000`)],
  ['with r beyond the order', malformed((signature) => `0x${'f'.repeat(64)}${signature.slice(66)}`)],
  ['with r and s swapped', malformed((text) => `0x${text.slice(66, 130)}${text.slice(2, 66)}${text.slice(130)}`)],
  ['without 0x', malformed((signature) => signature.slice(2))],
  ['with a line break after it', malformed((signature) => `${signature}\n`)],
  ['with one more byte', malformed((signature) => `${signature}00`)],
  ['with two more bytes, as of a wallet that is a contract', malformed((signature) => `${signature}0000`), CONTRACT],
  ['with a byte that is none, as of no contract', malformed((signature) => `${signature}00zz`)],
  ['that is empty', malformed(() => ''), UNSIGNED],
  ['three times as long', malformed((signature) => signature.repeat(3)), UNSIGNED],
];

describe('nobody signs in with a signature', () => {
  it.each([...messages, ...signatures])('%s', async (_name, attempt, alert = INVALID) => {
    const { reply, login } = await attempt();
    await fixture.expectRefused({ login }, reply, alert);
  });
});
