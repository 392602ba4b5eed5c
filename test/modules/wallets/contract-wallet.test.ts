/** Signing in with a wallet that is a contract (EIP-1271), or will be one (EIP-6492). */
import { randomBytes } from 'node:crypto';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { ENGLISH } from '../../../src/texts/texts.ts';
import { ContractWallet, ownedBy, REVERTING_CODE, wrapSignature } from '../../support/contract-wallet.ts';
import { ContractWalletFixture, FACTORY, NODE_CREDENTIALS, NODE_PATH } from '../../support/contract-wallet-fixture.ts';
import { LoginBrowser } from '../../support/login-browser.ts';
import { adminClient, createTenant, createTestUser, REDIRECT_URI } from '../../support/service.ts';
import { toHighS, Wallet } from '../../support/wallet.ts';

const INVALID = ENGLISH.text('alert.invalidSignature');
const UNSUPPORTED = ENGLISH.text('wallet.contract.unsupported');
const TOO_MANY = ENGLISH.text('wallet.contract.tooMany');
const OK = `${REDIRECT_URI}?authToken=`;

const wallets = await ContractWalletFixture.open();
const { login: fixture, log, node } = wallets;
const askForMessage = wallets.askForMessage.bind(wallets);
afterAll(() => wallets.close());
afterEach(() => {
  node.answer = undefined;
  node.asked.length = 0;
});

describe('a person signs in with a contract wallet', () => {
  it.each<[string, (signature: string) => string]>([
    ['of 65 bytes', (signature) => signature],
    ['of many bytes', (signature) => signature + randomBytes(3_840 - 65).toString('hex')],
    ['in upper case', (signature) => `0x${signature.slice(2).toUpperCase()}`],
  ])('that is deployed, with a signature %s', async (_form, spell) => {
    const { wallet, message, send } = await askForMessage();
    expect((await send(spell(wallet.sign(message)))).location).toMatch(OK);
    // The first answer that counts is followed by the question for the chain.
    expect(node.asked.map(({ method }) => method).filter((method) => method !== 'eth_chainId')).toEqual(['eth_call']);
  });

  it('that is not deployed yet, and again once it is', async () => {
    const { wallet, message, send } = await askForMessage({ isDeployed: false });
    expect((await send(wallet.signUndeployed(message))).location).toMatch(OK);
    await node.deploy(wallet.address, wallet.code);
    const again = await fixture.askForMessage(wallet.address);
    expect((await again.send(wallet.signUndeployed(again.message))).location).toMatch(OK);
  });

  it('that is new, and links it to an e-mail address', async () => {
    const tenant = await createTenant(fixture.service);
    await adminClient(fixture.service).updateApplication({ applicationId: tenant.id, allowSignUp: true });
    const wallet = new ContractWallet(FACTORY);
    const { message, browser, send } = await fixture.askForMessage(wallet.address, { of: tenant });
    const page = await send(wallet.signUndeployed(message));
    expect(page.heading).toBe('Your wallet is new here');
    const { email } = await createTestUser(fixture.service);
    const codePage = await browser.submit(page, '/login/link', { email });
    const signedIn = await browser.submit(codePage, '/login/code', { code: fixture.mailbox.codeFor(email) });
    expect(signedIn.location).toMatch(OK);
    const [user] = await fixture.service.database.sql`select wallet_address from users where email = ${email}`;
    expect(user?.wallet_address).toBe(wallet.address);
  });

  it('until the contract changes its mind, which ends no session', async () => {
    const { wallet, message, send } = await askForMessage();
    expect((await send(wallet.sign(message))).location).toMatch(OK);
    await node.deploy(wallet.address, ownedBy(new Wallet().address));
    const later = await fixture.askForMessage(wallet.address);
    await fixture.expectRefused(later, await later.send(wallet.sign(later.message)), INVALID);
  });

  it('and the node gets credentials, and little gas to spend, and no log has the URL', async () => {
    const { wallet, message, send } = await askForMessage();
    await send(wallet.sign(message));
    const [call] = node.asked;
    expect(call?.headers.authorization).toBe(
      `Basic ${Buffer.from(`${NODE_CREDENTIALS.user}:${NODE_CREDENTIALS.password}`).toString('base64')}`,
    );
    expect(call?.path).toBe(NODE_PATH);
    expect(call?.params[0]?.gas).toBe('0x989680');
    node.answer = (response) => response.destroy();
    const unlucky = await askForMessage();
    await unlucky.send(unlucky.wallet.sign(unlucky.message));
    const line = { reason: 'SIGNATURE_NOT_CHECKED', detail: 'UND_ERR_SOCKET' };
    expect(log.callLines).toContainEqual(expect.objectContaining(line));
    expect(log.text).not.toMatch(/node-key|node-query|node-password|rator/);
  });
});

describe('a signature of a key', () => {
  it('is judged without the node, whether it is right or malleable', async () => {
    for (const spell of [(signature: string) => signature, toHighS]) {
      const { wallet } = await fixture.createWalletUser();
      const { message, send } = await fixture.askForMessage(wallet.address);
      await send(spell(wallet.sign(message)));
    }
    expect(node.asked).toEqual([]);
  });
});

describe('nobody signs in', () => {
  type Forge = (wallet: ContractWallet, message: string) => string;

  it.each<[string, Forge, { isDeployed?: boolean }?]>([
    ['with the signature of another key', (_, message) => new Wallet().sign(message)],
    ['with the signature of another message', (wallet, message) => wallet.sign(`${message} `)],
    ['with an empty signature', () => '0x'],
    [
      'with a signature for a wallet that does not exist',
      ({ owner }, message) => owner.sign(message),
      { isDeployed: false },
    ],
    [
      'with a deployment of another wallet',
      (_, message) => new ContractWallet(FACTORY).signUndeployed(message),
      { isDeployed: false },
    ],
    [
      'with a deployment that fails',
      ({ owner }, message) => wrapSignature(FACTORY, '0x', owner.sign(message)),
      { isDeployed: false },
    ],
    ['with bytes that only look wrapped', () => `0x${'6492'.repeat(16)}`],
  ])('%s', async (_case, forge, options = {}) => {
    const asked = await askForMessage(options);
    await fixture.expectRefused(asked, await asked.send(forge(asked.wallet, asked.message)), INVALID);
  });

  it('with a delegation (ERC-8010), and the node is asked nothing else', async () => {
    const asked = await askForMessage();
    const word = (number: number) => number.toString(16).padStart(64, '0');
    const suffix = word(0).repeat(7) + word(256) + word(0);
    const signature = asked.wallet.sign(asked.message) + suffix + word(suffix.length / 2) + '8010'.repeat(16);
    await fixture.expectRefused(asked, await asked.send(signature), INVALID);
    expect(node.asked).toEqual([]);
  });

  it('if the contract reverts', async () => {
    const asked = await askForMessage();
    await node.deploy(asked.wallet.address, REVERTING_CODE);
    await fixture.expectRefused(asked, await asked.send(asked.wallet.sign(asked.message)), INVALID);
  });

  it.each([
    ['digits that are no bytes', '0x123', INVALID],
    ['3,841 bytes', `0x${'ab'.repeat(3_841)}`, UNSUPPORTED],
  ])('with %s, and the node is not asked', async (_form, signature, alert) => {
    const asked = await askForMessage();
    await fixture.expectRefused(asked, await asked.send(signature), alert);
    expect(node.asked).toEqual([]);
  });
});

describe('without a node', async () => {
  const replica = await fixture.startReplica({ ethereumRpcUrl: undefined });
  afterAll(() => replica.close());

  it.each<[string, (wallet: ContractWallet, message: string) => string, string]>([
    ['an undeployed wallet', (wallet, text) => wallet.signUndeployed(text), UNSUPPORTED],
    ['a long signature', (wallet, text) => `${wallet.sign(text)}abcd`, UNSUPPORTED],
    ['a signature that may be one of another key', (wallet, text) => wallet.sign(text), INVALID],
  ])('%s is refused, and the page says why', async (_case, sign, alert) => {
    const { wallet, message, ...asked } = await askForMessage();
    await fixture.expectRefused(asked, await asked.send(sign(wallet, message), replica), alert);
  });
});

it('a network has the node asked 20 times at once, and then every 3 minutes', async () => {
  const wallet = new ContractWallet(FACTORY);
  const address = '203.0.113.7';
  const inNetwork = () => ({ browser: new LoginBrowser(fixture.service, { address }) });
  const guess = async () => {
    const { message, send } = await fixture.askForMessage(wallet.address, inNetwork());
    return (await send(new Wallet().sign(message))).alert;
  };
  for (let count = 0; count < 20; count++) expect(await guess()).toBe(INVALID);
  expect(await guess()).toBe(TOO_MANY);
  expect(node.asked).toHaveLength(20);
  fixture.clock.advance(3 * 60_000);
  expect(await guess()).toBe(INVALID);
  expect(await guess()).toBe(TOO_MANY);
  // A key needs no node.
  const { wallet: ofKey } = await fixture.createWalletUser();
  const asked = await fixture.askForMessage(ofKey.address, inNetwork());
  expect((await asked.send(ofKey.sign(asked.message))).location).toMatch(OK);
});
