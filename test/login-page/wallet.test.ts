import { keccak_256 } from '@noble/hashes/sha3.js';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { MINUTE, type TestClock } from '../support/clock.ts';
import { holdLock } from '../support/lock.ts';
import { type BegunLogin, beginLogin, formOf, LoginBrowser, type LoginPage } from '../support/login-browser.ts';
import { type AskedForMessage, LoginFixture } from '../support/login-fixture.ts';
import {
  adminClient,
  clientsOf,
  createTenant,
  createTestUser,
  PUBLIC_URL,
  REDIRECT_URI,
  type Tenant,
  type TestService,
} from '../support/service.ts';
import { signerOf, toCompact, toHighS, Wallet, withV } from '../support/wallet.ts';

const INVALID = 'The signature does not match. Please try again.';
const UNKNOWN = 'No account has this wallet. Please use another one, or your e-mail address.';
const UNSIGNED = 'Your wallet did not sign. Please try again.';

let fixture: LoginFixture;
let clock: TestClock;
let service: TestService;
let tenant: Tenant;

beforeAll(async () => {
  fixture = await LoginFixture.open({ start: new Date('2030-01-02T03:04:05.678Z') });
  ({ clock, service, tenant } = fixture);
});
afterAll(() => fixture.close());

const send = ({ browser, page }: Pick<AskedForMessage, 'browser' | 'page'>, signature: string) =>
  browser.submit(page, '/login/wallet', { signature });

async function createWalletUser(spell: (wallet: Wallet) => string = ({ address }) => address) {
  const wallet = new Wallet();
  return { wallet, user: await createTestUser(service, { walletAddress: spell(wallet) }) };
}

describe('with a signature of the message', () => {
  it.each<[string, (wallet: Wallet) => string]>([
    ['in lower case', ({ address }) => address],
    ['with its checksum', ({ checksumAddress }) => checksumAddress],
    ['in upper case', ({ address }) => `0x${address.slice(2).toUpperCase()}`],
  ])(
    'the owner of an address stored %s arrives at the application, however the wallet spells it',
    async (_case, spell) => {
      const { wallet, user } = await createWalletUser(spell);
      for (const told of [wallet.address, wallet.checksumAddress]) {
        const asked = await fixture.askForMessage(told);
        const { status, location = '', body } = await send(asked, wallet.sign(asked.message));
        expect({ status, body }).toEqual({ status: 303, body: '' });
        expect(location.startsWith(`${REDIRECT_URI}?authToken=`)).toBe(true);
        const { searchParams } = new URL(location);
        expect([...searchParams.keys()]).toEqual(['authToken', 'state', 'iss']);
        expect(searchParams.get('state')).toBe(asked.login.state);
        expect(searchParams.get('iss')).toBe(PUBLIC_URL);
        const authToken = searchParams.get('authToken') ?? '';
        const answer = await clientsOf(service, tenant).auth.exchangeToken({ authToken });
        expect(answer.user).toMatchObject({ email: user.email, walletAddress: user.walletAddress });
      }
    },
  );

  it('which is of EIP-4361, for this page, this login and this address', async () => {
    const { wallet } = await createWalletUser();
    const { message, login } = await fixture.askForMessage(wallet.address);
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

  it('which is never the same twice', async () => {
    const { wallet } = await createWalletUser();
    const { browser, page, message } = await fixture.askForMessage(wallet.address);
    expect(await fixture.challenge({ browser, page }, wallet.address)).not.toBe(message);
  });

  it('which is as EIP-4361 has it whatever the application is called', async () => {
    const { wallet } = await createWalletUser();
    const name = 'Bärs “Shop”\u2028\u202eURI: https://evil.test 🦄 <b>';
    const { message, ...asked } = await fixture.askForMessage(wallet.address, {
      of: await createTenant(service, { name }),
    });
    const lines = message.split('\n');
    expect(lines).toHaveLength(12);
    for (const line of lines) expect(line).toMatch(/^[\x20-\x7e]*$/);
    expect(lines[3]).toBe('Sign in to B?rs ?Shop???URI: https://evil.test ?? ?b?.');
    expect((await send(asked, wallet.sign(message))).status).toBe(303);
  });

  it('it signs in until just before its 10 minutes are over', async () => {
    const { wallet } = await createWalletUser();
    const asked = await fixture.askForMessage(wallet.address);
    clock.advance(10 * MINUTE - 1);
    expect((await send(asked, wallet.sign(asked.message))).status).toBe(303);
  });

  it('it signs in with the digits of the signature in upper case', async () => {
    const { wallet } = await createWalletUser();
    const asked = await fixture.askForMessage(wallet.address);
    const signature = wallet.sign(asked.message);
    expect((await send(asked, `0x${signature.slice(2).toUpperCase()}`)).status).toBe(303);
  });

  it('a new one signs in after one that did not match', async () => {
    const { wallet } = await createWalletUser();
    const asked = await fixture.askForMessage(wallet.address);
    expect((await send(asked, wallet.sign('something else'))).alert).toBe(INVALID);
    const message = await fixture.challenge(asked, wallet.address);
    expect((await send(asked, wallet.sign(message))).status).toBe(303);
  });

  it('a wallet of a deleted user and a living one is the living one’s', async () => {
    const { wallet, user: former } = await createWalletUser();
    await adminClient(service).deleteUser({ userId: former.id });
    const { id } = await createTestUser(service, { walletAddress: wallet.address });
    const asked = await fixture.askForMessage(wallet.address);
    const { location = '' } = await send(asked, wallet.sign(asked.message));
    const [, payload = ''] = (new URL(location).searchParams.get('authToken') ?? '').split('.');
    expect(JSON.parse(Buffer.from(payload, 'base64url').toString()).sub).toBe(id);
  });
});

interface Attempt {
  readonly reply: LoginPage;
  /** The login that must not be completed by it. */
  readonly login: BegunLogin;
}

/** A signature of the message with something in it replaced. */
const altered =
  (change: (message: string, asked: AskedForMessage) => string): (() => Promise<Attempt>) =>
  async () => {
    const { wallet } = await createWalletUser();
    const asked = await fixture.askForMessage(wallet.checksumAddress);
    const text = change(asked.message, asked);
    expect(text).not.toBe(asked.message);
    return { ...asked, reply: await send(asked, wallet.sign(text)) };
  };

/** What is made of the right signature. */
const malformed =
  (change: (signature: string, message: string, wallet: Wallet) => string): (() => Promise<Attempt>) =>
  async () => {
    const { wallet } = await createWalletUser();
    const asked = await fixture.askForMessage(wallet.address);
    const signature = wallet.sign(asked.message);
    const changed = change(signature, asked.message, wallet);
    expect(changed).not.toBe(signature);
    return { ...asked, reply: await send(asked, changed) };
  };

const attacks: [name: string, attempt: () => Promise<Attempt>, alert: string][] = [
  [
    'of another login of the same wallet in the same browser',
    async () => {
      const { wallet } = await createWalletUser();
      const first = await fixture.askForMessage(wallet.address);
      const second = await fixture.askForMessage(wallet.address, { browser: first.browser });
      return { ...second, reply: await send(second, wallet.sign(first.message)) };
    },
    INVALID,
  ],
  [
    'of a login to another application',
    async () => {
      const { wallet } = await createWalletUser();
      const of = await createTenant(service, { name: 'Another application' });
      const other = await fixture.askForMessage(wallet.address, { of });
      const asked = await fixture.askForMessage(wallet.address, { browser: other.browser });
      return { ...asked, reply: await send(asked, wallet.sign(other.message)) };
    },
    INVALID,
  ],
  [
    'that a page of another host has asked for, for the same login',
    async () => {
      await using phisher = await fixture.startReplica({ publicUrl: 'https://usher.evil' });
      const { wallet } = await createWalletUser();
      const login = await beginLogin(service, tenant);
      const evil = await fixture.askForMessage(wallet.address, { at: phisher, login });
      expect(evil.message).toContain('usher.evil wants you to sign in');
      const asked = await fixture.askForMessage(wallet.address, { login });
      return { ...asked, reply: await send(asked, wallet.sign(evil.message)) };
    },
    INVALID,
  ],
  [
    'of an older message of the same login',
    async () => {
      const { wallet } = await createWalletUser();
      const first = await fixture.askForMessage(wallet.address);
      const second = await fixture.askForMessage(wallet.address, first);
      return { ...second, reply: await send(second, wallet.sign(first.message)) };
    },
    INVALID,
  ],
  [
    'that another browser has been asked for, for the same login',
    async () => {
      const { wallet } = await createWalletUser();
      const victim = await fixture.askForMessage(wallet.address);
      const thief = await fixture.askForMessage(wallet.address, { login: victim.login });
      return { ...thief, reply: await send(thief, wallet.sign(victim.message)) };
    },
    INVALID,
  ],
  [
    'that another browser has been asked for, from one that has not asked',
    async () => {
      const { wallet } = await createWalletUser();
      const victim = await fixture.askForMessage(wallet.address);
      const browser = new LoginBrowser(service);
      const page = await browser.open(victim.login.path);
      return { ...victim, reply: await send({ browser, page }, wallet.sign(victim.message)) };
    },
    INVALID,
  ],
  [
    'that has signed in before, at another login',
    async () => {
      const { wallet } = await createWalletUser();
      const used = await fixture.askForMessage(wallet.address);
      const signature = wallet.sign(used.message);
      expect((await send(used, signature)).status).toBe(303);
      const login = await beginLogin(service, tenant);
      const page = await used.browser.open(login.path);
      return { login, reply: await send({ browser: used.browser, page }, signature) };
    },
    INVALID,
  ],
  [
    'that is right, after one that was not',
    async () => {
      const { wallet } = await createWalletUser();
      const asked = await fixture.askForMessage(wallet.address);
      await send(asked, wallet.sign('something else'));
      return { ...asked, reply: await send(asked, wallet.sign(asked.message)) };
    },
    INVALID,
  ],
  [
    'of a message of 10 minutes of age',
    async () => {
      const { wallet } = await createWalletUser();
      const asked = await fixture.askForMessage(wallet.address);
      clock.advance(10 * MINUTE);
      return { ...asked, reply: await send(asked, wallet.sign(asked.message)) };
    },
    INVALID,
  ],
  [
    'without any message having been asked for',
    async () => {
      const { wallet } = await createWalletUser();
      const { browser, login, page } = await fixture.arrive();
      return { login, reply: await send({ browser, page }, wallet.sign('')) };
    },
    INVALID,
  ],
  [
    'of another key, for the address of a user',
    async () => {
      const { wallet } = await createWalletUser();
      const asked = await fixture.askForMessage(wallet.address);
      return { ...asked, reply: await send(asked, new Wallet().sign(asked.message)) };
    },
    INVALID,
  ],
  [
    'of a user, for a message of another user’s address',
    async () => {
      const [own, victim] = [await createWalletUser(), await createWalletUser()];
      const asked = await fixture.askForMessage(victim.wallet.address);
      const reply = await asked.browser.submit(asked.page, '/login/wallet', {
        address: own.wallet.address,
        signature: own.wallet.sign(asked.message),
      });
      return { ...asked, reply };
    },
    INVALID,
  ],
  [
    'of a wallet nobody has',
    async () => {
      const wallet = new Wallet();
      const asked = await fixture.askForMessage(wallet.address);
      return { ...asked, reply: await send(asked, wallet.sign(asked.message)) };
    },
    UNKNOWN,
  ],
  [
    'of a wallet nobody has, sent beside the address of a user',
    async () => {
      const [wallet, victim] = [new Wallet(), await createWalletUser()];
      const asked = await fixture.askForMessage(wallet.address);
      const reply = await asked.browser.submit(asked.page, '/login/wallet', {
        address: victim.wallet.address,
        signature: wallet.sign(asked.message),
      });
      return { ...asked, reply };
    },
    UNKNOWN,
  ],
  [
    'of a wallet that two users share',
    async () => {
      const { wallet } = await createWalletUser();
      await createTestUser(service, { walletAddress: wallet.checksumAddress });
      const asked = await fixture.askForMessage(wallet.address);
      return { ...asked, reply: await send(asked, wallet.sign(asked.message)) };
    },
    UNKNOWN,
  ],
  [
    'of a user who has been deleted',
    async () => {
      const { wallet, user } = await createWalletUser();
      const asked = await fixture.askForMessage(wallet.address);
      await adminClient(service).deleteUser({ userId: user.id });
      return { ...asked, reply: await send(asked, wallet.sign(asked.message)) };
    },
    UNKNOWN,
  ],

  [
    'of a message with another request ID',
    altered((message) => message.replace(/Request ID: .*/, 'Request ID: x')),
    INVALID,
  ],
  [
    'of a message for another host',
    altered((message) => message.replace('usher.test wants', 'usher.evil wants')),
    INVALID,
  ],
  [
    'of a message with another URI',
    altered((message) => message.replace('URI: https://usher.test', 'URI: https://u.test')),
    INVALID,
  ],
  ['of a message for another application', altered((message) => message.replace('Test application', 'Shop')), INVALID],
  ['of a message with another nonce', altered((message) => message.replace(/Nonce: ./, 'Nonce: x')), INVALID],
  ['of a message for another chain', altered((message) => message.replace('Chain ID: 1', 'Chain ID: 137')), INVALID],
  ['of a message that lives longer', altered((message) => message.replace(/Time: 2030/, 'Time: 2031')), INVALID],
  [
    'of a message that was issued later',
    altered((message) => message.replace('Issued At: 2030', 'Issued At: 2031')),
    INVALID,
  ],
  [
    'of a message with the address in lower case',
    altered((message) => message.replace(/0x\S{40}/, (address) => address.toLowerCase())),
    INVALID,
  ],
  ['of a message with a line more', altered((message) => `${message}\nResources:\n- https://usher.test`), INVALID],
  ['of a message with a line break more', altered((message) => `${message}\n`), INVALID],
  ['of a message with other line breaks', altered((message) => message.replaceAll('\n', '\r\n')), INVALID],
  ['of the message in hex', altered((message) => `0x${Buffer.from(message).toString('hex')}`), INVALID],
  ['of no text', altered(() => ''), INVALID],

  ['of the bare hash', malformed((_, message, wallet) => wallet.signDigest(keccak_256(Buffer.from(message)))), INVALID],
  ['with s in the upper half of the order', malformed(toHighS), INVALID],
  ['with v 0 or 1 for 27 or 28', malformed((signature) => withV(signature, (v) => v - 27)), INVALID],
  ['with v 29 or 30', malformed((signature) => withV(signature, (v) => v + 2)), INVALID],
  ['with v 26', malformed((signature) => withV(signature, () => 26)), INVALID],
  [
    'with v 37 or 38, as of a transaction of chain 1',
    malformed((signature) => withV(signature, (v) => v + 10)),
    INVALID,
  ],
  ['with the other v', malformed((signature) => withV(signature, (v) => 55 - v)), INVALID],
  [
    'with a bit flipped',
    malformed((signature) => `0x${(signature[2] === '0' ? '1' : '0') + signature.slice(3)}`),
    INVALID,
  ],
  ['with r = 0', malformed((signature) => `0x${'0'.repeat(64)}${signature.slice(66)}`), INVALID],
  [
    'with s = 0',
    malformed((signature) => `${signature.slice(0, 66)}${'0'.repeat(64)}${signature.slice(130)}`),
    INVALID,
  ],
  ['with r beyond the order', malformed((signature) => `0x${'f'.repeat(64)}${signature.slice(66)}`), INVALID],
  ['of zeros only', malformed(() => `0x${'0'.repeat(128)}1b`), INVALID],
  [
    'with r and s in each other’s place',
    malformed((s) => `0x${s.slice(66, 130)}${s.slice(2, 66)}${s.slice(130)}`),
    INVALID,
  ],
  ['without its last byte', malformed((signature) => signature.slice(0, -2)), INVALID],
  ['without its last digit', malformed((signature) => signature.slice(0, -1)), INVALID],
  ['with a byte more', malformed((signature) => `${signature}00`), INVALID],
  ['without 0x', malformed((signature) => signature.slice(2)), INVALID],
  ['with space around it', malformed((signature) => ` ${signature}`), INVALID],
  ['with a line break after it', malformed((signature) => `${signature}\n`), INVALID],
  ['in base64', malformed((signature) => Buffer.from(signature.slice(2), 'hex').toString('base64')), INVALID],
  ['in the compact form of EIP-2098', malformed(toCompact), INVALID],
  ['of r and s only', malformed((signature) => signature.slice(0, 130)), INVALID],
  ['of the word null', malformed(() => 'null'), INVALID],
  ['of 0x only', malformed(() => '0x'), INVALID],
  ['of nothing', malformed(() => ''), UNSIGNED],
  ['of more than any signature has', malformed((signature) => signature.repeat(3)), UNSIGNED],
];

describe('nobody gets in with a signature', () => {
  it('that is valid but for its form: these are', () => {
    const wallet = new Wallet();
    const signature = wallet.sign('text');
    expect(signerOf('text', signature)).toBe(wallet.address);
    expect(toHighS(signature)).not.toBe(signature);
    expect(signerOf('text', toHighS(signature))).toBe(wallet.address);
  });

  it.each(attacks)('%s', async (_name, attempt, alert) => {
    const { reply, login } = await attempt();
    expect({ status: reply.status, alert: reply.alert, location: reply.location }).toEqual({
      status: 200,
      alert,
      location: undefined,
    });
    expect(await fixture.isCompleted(login.loginIntentId)).toBe(false);
  });

  it('of a login that has expired: 410', async () => {
    const { wallet } = await createWalletUser();
    const login = await beginLogin(service, tenant);
    clock.advance(25 * MINUTE);
    const asked = await fixture.askForMessage(wallet.address, { login });
    clock.advance(5 * MINUTE);
    const { status, location } = await send(asked, wallet.sign(asked.message));
    expect({ status, location }).toEqual({ status: 410, location: undefined });
  });

  it('that another browser has already signed in with at that login: 409', async () => {
    const { wallet } = await createWalletUser();
    const asked = await fixture.askForMessage(wallet.address);
    const thief = new LoginBrowser(service);
    const page = await thief.open(asked.login.path);
    const signature = wallet.sign(asked.message);
    expect((await send(asked, signature)).status).toBe(303);
    const { status, location } = await send({ browser: thief, page }, signature);
    expect({ status, location }).toEqual({ status: 409, location: undefined });
  });
});

describe('a message', () => {
  it.each([
    ['nothing', ''],
    ['a name', 'vitalik.eth'],
    ['an address that is too short', `0x${'a'.repeat(39)}`],
    ['an address that is too long', `0x${'a'.repeat(41)}`],
    ['an address of other digits', `0x${'g'.repeat(40)}`],
    ['an address with a line break', `0x${'a'.repeat(40)}\n`],
    ['an address without 0x', 'a'.repeat(40)],
  ])('is not written for %s', async (_name, address) => {
    const { browser, page } = await fixture.arrive();
    const { fields } = formOf(page, '/login/wallet');
    const { status, body } = await browser.post('/login/wallet/challenge', { ...fields, address });
    expect({ status, reply: JSON.parse(body) }).toEqual({
      status: 400,
      reply: { error: 'Your wallet did not tell its address. Please try again.' },
    });
  });

  it('is written alike for a wallet of a user and one of nobody', async () => {
    const { wallet } = await createWalletUser();
    const [known, unknown] = [
      await fixture.askForMessage(wallet.address),
      await fixture.askForMessage(new Wallet().address),
    ];
    const shapeOf = ({ message, login }: AskedForMessage) =>
      message
        .replace(login.loginIntentId, 'ID')
        .replace(/0x\w{40}/, 'ADDRESS')
        .replace(/Nonce: \w+/, 'NONCE')
        .replaceAll(/\d{4}-[\dT:.-]+Z/g, 'TIME');
    expect(shapeOf(unknown)).toBe(shapeOf(known));
  });
});

describe('two browsers, or two tabs of one, that race', () => {
  it('with one signature get one redirect, and the login is completed once', async () => {
    const { wallet, user } = await createWalletUser();
    const asked = await fixture.askForMessage(wallet.address);
    const signature = wallet.sign(asked.message);
    const replies = await Promise.all(Array.from({ length: 8 }, () => send(asked, signature)));
    const locations = new Set(replies.flatMap(({ location }) => location ?? []));
    expect(locations.size).toBe(1);
    const [row] = await service.database.sql`
      select completed_at, user_id from login_intents where id = ${asked.login.loginIntentId}`;
    expect(row).toEqual({ completed_at: clock.read(), user_id: user.id });
    expect((await asked.browser.open(asked.login.path)).location).toBe([...locations][0]);
  });

  it('at one login with a wallet each: one is signed in, the other is told that it is used', async () => {
    const [first, second] = [await createWalletUser(), await createWalletUser()];
    const login = await beginLogin(service, tenant);
    const askedFirst = await fixture.askForMessage(first.wallet.address, { login });
    const askedSecond = await fixture.askForMessage(second.wallet.address, { login });
    const replies = await Promise.all([
      send(askedFirst, first.wallet.sign(askedFirst.message)),
      send(askedSecond, second.wallet.sign(askedSecond.message)),
    ]);
    expect(replies.map(({ status }) => status).sort()).toEqual([303, 409]);
    const [row] = await service.database.sql`select user_id from login_intents where id = ${login.loginIntentId}`;
    expect(row?.user_id).toBe(replies[0]?.status === 303 ? first.user.id : second.user.id);
  });
});

it('who has signed is signed in, even where the message cannot be removed', async () => {
  const { wallet } = await createWalletUser();
  await using hasty = await fixture.startReplica({ requestTimeoutMs: 1_000 });
  const asked = await fixture.askForMessage(wallet.address, { at: hasty });
  await using _ = await holdLock(service.database, 'lock wallet_challenges in share mode');
  expect((await send(asked, wallet.sign(asked.message))).status).toBe(303);
});

it('a message is gone once it was used', async () => {
  const { wallet } = await createWalletUser();
  const asked = await fixture.askForMessage(wallet.address);
  const { sql } = service.database;
  const find = () => sql`select 1 from wallet_challenges where login_intent_id = ${asked.login.loginIntentId}`;
  expect(await find()).toHaveLength(1);
  await send(asked, wallet.sign(asked.message));
  expect(await find()).toHaveLength(0);
});
