/** An Ethereum node that is slow, down, wrong or hostile while people with contract wallets sign in. */
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import { afterAll, afterEach, describe, expect, it, vi } from 'vitest';
import { LineSampler } from '../../src/api/line-sampler.ts';
import { ENGLISH } from '../../src/texts/texts.ts';
import { ContractWalletFixture } from '../support/contract-wallet-fixture.ts';
import { EthereumTestNode, type NodeAnswer } from '../support/ethereum-node.ts';
import { REDIRECT_URI } from '../support/service.ts';
import { Wallet } from '../support/wallet.ts';

const INVALID = ENGLISH.text('alert.invalidSignature');
const UNCHECKED = ENGLISH.text('wallet.contract.unchecked');
const OK = `${REDIRECT_URI}?authToken=`;

const wallets = await ContractWalletFixture.open();
const { log, login: fixture, node, rpcUrl } = wallets;
const askForMessage = wallets.askForMessage.bind(wallets);
// The log takes 100 lines of logins a second, and a quick machine makes more here.
const admit = vi.spyOn(LineSampler.prototype, 'admit').mockReturnValue(true);
/** A busy machine may need longer for an answer than a node has. Only tests of that limit keep it. */
const PATIENT_MS = 120_000;
let leastMs = PATIENT_MS;
const { timeout } = AbortSignal;
const patience = vi
  .spyOn(AbortSignal, 'timeout')
  .mockImplementation((milliseconds) => timeout(Math.max(milliseconds, leastMs)));
afterAll(async () => {
  patience.mockRestore();
  admit.mockRestore();
  await wallets.close();
});
afterEach(() => {
  node.answer = undefined;
  node.asked.length = 0;
});

/** Made before: it takes a part of the time that the node has. */
const BOMB = gzipSync(Buffer.alloc(50_000_000, ' '));

const answering =
  (body: unknown): NodeAnswer =>
  (response) =>
    response.end(typeof body === 'string' ? body : JSON.stringify(body));

function sendForEver(response: ServerResponse): void {
  const chunk = Buffer.alloc(65_536, ' ');
  const write = () => {
    while (!response.destroyed && response.write(chunk));
  };
  response.on('drain', write);
  write();
}

/** A revert that asks to fetch a URL (EIP-3668). */
function offchainLookup(lookup: string): string {
  const text = Buffer.from(lookup).toString('hex');
  const words = [
    'f'.repeat(40),
    'a0',
    '140',
    '00000000',
    '160',
    '1',
    '20',
    (text.length / 2).toString(16),
    text.padEnd(128, '0'),
    '0',
    '0',
  ];
  return `0x556f1830${words.map((word) => word.padStart(64, '0')).join('')}`;
}

describe('the page says that a signature was not checked, and lets the person try again, if the node', () => {
  it.each<[string, string, NodeAnswer]>([
    ['hangs', 'timeout', () => {}],
    [
      'sends a byte now and then',
      'timeout',
      (response) => {
        const sending = setInterval(() => response.write(' '), 100);
        response.on('close', () => clearInterval(sending));
      },
    ],
    ['closes the connection', 'UND_ERR_SOCKET', (response) => response.destroy()],
    [
      'sends half an answer',
      'UND_ERR_SOCKET',
      (response) =>
        response.writeHead(200, { 'content-length': 90 }).write('{"result":"0x01"', () => response.destroy()),
    ],
    [
      'answers with status 429',
      'The reply has status 429',
      (response) => response.writeHead(429).end('{"result":"0x01"}'),
    ],
    [
      'answers with status 500',
      'The reply has status 500',
      (response) => response.writeHead(500).end('{"result":"0x01"}'),
    ],
    ['redirects', 'no answer', (response) => response.writeHead(307, { location: `${node.url}elsewhere` }).end()],
    ['sends for ever', 'The reply is too large', sendForEver],
    [
      'sends a bomb',
      'The reply is too large',
      (response) => response.writeHead(200, { 'content-encoding': 'gzip' }).end(BOMB),
    ],
    ['answers in HTML', 'malformed answer', answering('<!doctype html>')],
    ['answers nothing', 'malformed answer', answering('')],
    ['answers null', 'malformed answer', answering('null')],
    ['answers a list', 'malformed answer', answering([{ result: '0x01' }])],
    ['answers true', 'malformed answer', answering({ result: true })],
    ['answers a number', 'malformed answer', answering({ result: 1 })],
    ['answers no hex', 'malformed answer', answering({ result: '0x0g' })],
    ['answers without a result', 'malformed answer', answering({ jsonrpc: '2.0', id: 1 })],
    ['is too busy', 'error -32005', answering({ error: { code: -32_005, message: 'limit exceeded for node-key' } })],
    ['has an error without a code', 'malformed answer', answering({ error: 'execution reverted' })],
  ])('%s', async (_case, detail, answer) => {
    node.answer = answer;
    const { wallet, ...asked } = await askForMessage();
    const refusals = () => log.callLines.filter(({ reason }) => reason === 'SIGNATURE_NOT_CHECKED');
    const before = refusals().length;
    leastMs = detail === 'timeout' ? 0 : PATIENT_MS;
    await fixture.expectRefused(asked, await asked.send(wallet.sign(asked.message)), UNCHECKED);
    leastMs = PATIENT_MS;
    expect(node.asked).toHaveLength(1);
    // The line of a call is written after its answer.
    await expect.poll(refusals).toHaveLength(before + 1);
    expect(refusals().at(-1)).toMatchObject({ detail });
    node.answer = undefined;
    fixture.clock.advance(1);
    const message = await fixture.challenge(asked, wallet.address);
    expect((await asked.send(wallet.sign(message))).location).toMatch(OK);
  });

  it('is of another chain', async () => {
    // A process that has asked for no chain yet.
    await using replica = await fixture.startReplica({ ethereumRpcUrl: rpcUrl, ethereumChainId: 10 });
    const { wallet, ...asked } = await askForMessage();
    expect(asked.message).toContain('Chain ID: 1\n');
    await fixture.expectRefused(asked, await asked.send(wallet.sign(asked.message), replica), UNCHECKED);
    node.chainId = '0xa';
    const arrived = { ...asked, browser: asked.browser.at(replica) };
    fixture.clock.advance(1);
    const message = await fixture.challenge(arrived, wallet.address);
    expect(message).toContain('Chain ID: 10\n');
    expect((await asked.send(wallet.sign(message), replica)).location).toMatch(OK);
    node.chainId = '0x1';
  });

  it('is down', async () => {
    const gone = await EthereumTestNode.start();
    await gone.stop();
    await using replica = await fixture.startReplica({ ethereumRpcUrl: gone.url });
    const { wallet, ...asked } = await askForMessage();
    await fixture.expectRefused(asked, await asked.send(wallet.sign(asked.message), replica), UNCHECKED);
  });
});

it('a contract cannot make Usher fetch a URL (EIP-3668)', async () => {
  let fetches = 0;
  const server = createServer((_request, response) => {
    fetches++;
    response.end('{"data":"0x01"}');
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const data = offchainLookup(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
  node.answer = answering({ error: { code: 3, message: 'execution reverted', data } });
  const { wallet, ...asked } = await askForMessage();
  await fixture.expectRefused(asked, await asked.send(wallet.sign(asked.message)), INVALID);
  expect(fetches).toBe(0);
  server.close();
});

/** Sends the signature of another key. */
async function guess(asked: Awaited<ReturnType<typeof askForMessage>>) {
  return asked.send(new Wallet().sign(asked.message));
}

it('the node is asked for 8 signatures at a time', async () => {
  const waiting: ServerResponse[] = [];
  const { promise: isFull, resolve } = Promise.withResolvers<void>();
  node.answer = (response) => {
    if (waiting.push(response) === 8) resolve();
  };
  const asked = await Promise.all(Array.from({ length: 10 }, () => askForMessage()));
  const first = asked.slice(0, 8).map(guess);
  await isFull;
  for (const other of asked.slice(8)) expect((await guess(other)).alert).toBe(UNCHECKED);
  expect(waiting).toHaveLength(8);
  for (const response of waiting) answering({ result: '0x00' })(response, { method: '', params: [] });
  expect((await Promise.all(first)).map(({ alert }) => alert)).toEqual(Array(8).fill(INVALID));
});
