/** How e-mails are sent: over kept connections, again after a failure, within bounds. */
import { text } from 'node:stream/consumers';
import { afterAll, describe, expect, it, test } from 'vitest';
import type { MailError } from '../../../src/mail/mail-error.ts';
import { MailQueue } from '../../../src/mail/mail-queue.ts';
import { createMailSender } from '../../../src/mail/send-mail.ts';
import { createCertificate } from '../../support/certificate.ts';
import { MailServer, startSocketServer } from '../../support/mail-server.ts';
import { readEmail } from '../../support/read-email.ts';
import { RecordedLog } from '../../support/recorded-log.ts';
import { createTestMail } from '../../support/test-mail.ts';

/** Never reached by these tests. */
const LONG_MS = 600_000;

const stack = new AsyncDisposableStack();
afterAll(() => stack.disposeAsync());

/** Returns a queue whose `send` resolves to the error of the e-mail, if it fails. */
function openQueue(
  port: number,
  { scheme = 'smtp', ...options }: { scheme?: string; maxPending?: number; retryDelaysMs?: readonly number[] } = {},
) {
  const log = new RecordedLog();
  const sender = createMailSender({ url: `${scheme}://usher:secret@127.0.0.1:${port}`, from: 'login@usher.test' });
  const queue = new MailQueue(sender, log.logger, { isDelayed: false, retryDelaysMs: [20, 20, 20], ...options });
  stack.defer(() => queue.close());
  const send = ({ isDecoy = false } = {}) => {
    const { promise, resolve } = Promise.withResolvers<MailError | undefined>();
    queue.send(createTestMail(), { requestId: 'request', isDecoy, onEnd: async (error) => resolve(error) });
    return promise;
  };
  return { queue, send, log: () => log.lines.join('') };
}

interface Seen {
  readonly events: string[];
  /** The most connections at once. */
  most: number;
  open: number;
}

/** Starts a mail server that notes what it sees. */
async function startServer(options: Parameters<typeof MailServer.start>[0] = {}) {
  const seen: Seen = { events: [], most: 0, open: 0 };
  const server = await MailServer.start({
    onConnect: (_session, done) => {
      seen.events.push('connect');
      seen.most = Math.max(seen.most, ++seen.open);
      done();
    },
    onClose: () => void seen.open--,
    onAuth: ({ username = '' }, _session, done) => {
      seen.events.push('login');
      done(null, { user: username });
    },
    onMailFrom: (_address, _session, done) => {
      seen.events.push('mail');
      done();
    },
    ...options,
  });
  stack.use(server);
  return { server, seen };
}

/** Returns a port where nothing listens. */
async function findFreePort(): Promise<number> {
  await using server = await MailServer.start();
  return server.port;
}

test('5,000 e-mails wait in memory, and the next one fails at once', async () => {
  const log = new RecordedLog();
  const queue = new MailQueue({ send: () => new Promise(() => {}) }, log.logger, { isDelayed: false });
  const ended: unknown[] = [];
  const send = () =>
    queue.send(createTestMail(), { requestId: 'request', onEnd: async (error) => void ended.push(error?.code) });
  for (let count = 0; count < 5_000; count++) send();
  expect(ended).toEqual([]);
  send();
  await expect.poll(() => ended).toEqual(['queue full']);
});

test('a hundred e-mails go over five connections, which are kept for the next', async () => {
  const { server, seen } = await startServer();
  const { send, queue } = openQueue(server.port);
  const errors = await Promise.all(Array.from({ length: 100 }, () => send()));
  expect(errors.filter((error) => error)).toEqual([]);
  await send();
  expect(server.emails).toHaveLength(101);
  expect(seen.most).toBe(5);
  // A busy machine may lose one that is idle.
  expect(seen.events.filter((event) => event === 'connect').length).toBeLessThan(10);
  expect(queue.outcomes).toEqual({ sent: 101, failed: 0 });
});

test('a decoy connects and logs in, but sends nothing, over the same five connections', async () => {
  const { server, seen } = await startServer();
  const { send, queue } = openQueue(server.port);
  expect(await send({ isDecoy: true })).toBe(undefined);
  expect(seen.events).toEqual(['connect', 'login']);
  await Promise.all(Array.from({ length: 60 }, (_, index) => send({ isDecoy: index % 2 === 0 })));
  expect(server.emails).toHaveLength(30);
  expect(seen.most).toBe(5);
  // A busy machine may lose one that is idle.
  expect(seen.events.filter((event) => event === 'connect').length).toBeLessThan(10);
  expect(queue.outcomes).toEqual({ sent: 61, failed: 0 });
});

describe.each([false, true])('with decoy: %s,', (isDecoy) => {
  it('a mail server that is away and comes back gets it, once', async () => {
    const attempted = Promise.withResolvers<void>();
    const away = await startSocketServer((socket) => {
      socket.destroy();
      attempted.resolve();
    });
    // Until it is back, however long a busy machine takes.
    const { send, log } = openQueue(away.port, { retryDelaysMs: Array(10_000).fill(20) });
    const sending = send({ isDecoy });
    await attempted.promise;
    await away[Symbol.asyncDispose]();
    const { server, seen } = await startServer({ port: away.port });
    expect(await sending).toBe(undefined);
    expect(server.emails).toHaveLength(isDecoy ? 0 : 1);
    expect(seen.events.slice(0, 2)).toEqual(['connect', 'login']);
    expect(log()).toBe('');
  });

  it.each([
    [
      'is away',
      { code: 'ESOCKET', detail: expect.stringMatching(/^connect ECONNREFUSED/) },
      async () => ({ port: await findFreePort() }),
    ],
    ['closes every connection', { code: 'ECONNECTION' }, () => startSocketServer((socket) => socket.end())],
    [
      'does not speak SMTP',
      { code: 'EPROTOCOL' },
      () => startSocketServer((socket) => socket.end('HTTP/1.1 200 OK\r\n\r\n')),
    ],
  ])('a mail server that %s gets four attempts, and then the e-mail has failed', async (_what, error, start) => {
    const { port } = await start();
    const { send, queue, log } = openQueue(port);
    expect(await send({ isDecoy })).toMatchObject({ ...error, isOfServer: true });
    expect(queue.outcomes).toEqual({ sent: 0, failed: 1 });
    expect(log().match(/"msg":"login code not sent"/g)).toHaveLength(1);
  });

  it('a mail server that refuses the password gets one attempt', async () => {
    let logins = 0;
    const { server } = await startServer({
      onAuth: (_credentials, _session, done) => {
        logins++;
        done(Object.assign(new Error('No'), { responseCode: 535 }));
      },
    });
    const { send } = openQueue(server.port);
    const expected = { code: 'EAUTH', responseCode: 535, isOfServer: true, detail: undefined };
    expect(await send({ isDecoy })).toMatchObject(expected);
    expect(logins).toBe(1);
  });

  it('a mail server whose certificate is not trusted is logged as such', async () => {
    const { server } = await startServer({ secure: true, ...(await createCertificate()) });
    const { send, log } = openQueue(server.port, { scheme: 'smtps' });
    expect(await send({ isDecoy })).toMatchObject({ code: 'ESOCKET', isOfServer: true });
    expect(log()).toMatch(/"detail":"[^"]*self-signed certificate[^"]*","msg":"login code not sent"/);
  });

  it('a connection that the mail server has closed is replaced at the first attempt', async () => {
    const port = await findFreePort();
    const { send } = openQueue(port, { retryDelaysMs: [LONG_MS] });
    for (let round = 0; round < 3; round++) {
      const server = await MailServer.start({
        port,
        onAuth: (_credentials, _session, done) => done(null, { user: 'u' }),
      });
      expect(await send({ isDecoy })).toBe(undefined);
      await server[Symbol.asyncDispose]();
    }
  });

  it('of more e-mails than the queue holds, the last fail at once', async () => {
    await using server = await startSocketServer((socket) => socket.resume());
    const { send, queue } = openQueue(server.port, { maxPending: 10 });
    for (let count = 0; count < 10; count++) void send({ isDecoy });
    expect(await send({ isDecoy })).toMatchObject({ code: 'queue full', isOfServer: true });
    await expect.poll(() => server.sockets.size).toBe(5);
    await queue.close();
    expect(queue.outcomes).toEqual({ sent: 0, failed: 11 });
    // It gives up on those connections.
    await expect.poll(() => server.sockets.size).toBe(0);
  });

  it('a shutdown does not wait for the next attempt, but makes it', async () => {
    const port = await findFreePort();
    const { send, queue } = openQueue(port, { retryDelaysMs: [LONG_MS, LONG_MS, LONG_MS] });
    const sending = send({ isDecoy });
    const { promise: isWaiting, resolve } = Promise.withResolvers<void>();
    setTimeout(resolve, 200);
    await isWaiting;
    const { server } = await startServer({ port });
    await queue.close();
    expect(await sending).toBe(undefined);
    expect(server.emails).toHaveLength(isDecoy ? 0 : 1);
  });
});

test('an e-mail that is sent after the shutdown has given it up has one result', async () => {
  const { promise: isSent, resolve } = Promise.withResolvers<void>();
  const queue = new MailQueue({ send: () => isSent }, new RecordedLog().logger, { isDelayed: false });
  const codes: (string | undefined)[] = [];
  queue.send(createTestMail(), { requestId: 'request', onEnd: async (error) => void codes.push(error?.code) });
  await queue.close();
  resolve();
  await new Promise(setImmediate);
  expect(codes).toEqual(['shutdown']);
  expect(queue.outcomes).toEqual({ sent: 0, failed: 1 });
});

test.each([
  [550, 1],
  [451, 4],
])(
  'a mail server that answers %i to an address gets %i attempts, and the page must not say so',
  async (responseCode, count) => {
    let attempts = 0;
    const { server } = await startServer({
      onRcptTo: (_address, _session, done) => {
        attempts++;
        done(Object.assign(new Error('No'), { responseCode }));
      },
    });
    const { send, log } = openQueue(server.port);
    expect(await send()).toMatchObject({ responseCode, isOfServer: false });
    expect(attempts).toBe(count);
    expect(log()).not.toContain('ada@example.com');
  },
);

test('every attempt has the same Message-ID, so that mail programs show one e-mail', async () => {
  const ids: (string | undefined)[] = [];
  const { server } = await startServer({
    onData: async (stream, _session, done) => {
      ids.push(readEmail(await text(stream)).headers['message-id']);
      done(ids.length < 3 ? Object.assign(new Error('Later'), { responseCode: 451 }) : null);
    },
  });
  const { send } = openQueue(server.port);
  expect(await send()).toBe(undefined);
  expect(ids).toHaveLength(3);
  expect(new Set(ids).size).toBe(1);
});
