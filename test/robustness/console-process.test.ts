/** The console of real processes: several replicas, TLS, and clients without a credential that send much, slowly or often. */
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { request as httpsRequest } from 'node:https';
import { connect } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { deriveConsoleKeys } from '../../src/modules/console/keys.ts';
import { createSignInLink } from '../../src/modules/console/sign-in-link.ts';
import { writeCertificate } from '../support/certificate.ts';
import { cloneDatabase } from '../support/database.ts';
import { createDirectory } from '../support/directory.ts';
import { findFreePort } from '../support/free-port.ts';
import { request } from '../support/http.ts';
import { optionsFor, startUsher, type UsherProcess } from '../support/process.ts';
import { quickOrLong, report } from '../support/soak.ts';

const timeout = 300_000;
const ADA = 'ada@example.com';
const MEGABYTE = 1024 * 1024;
/** Above what a network may try at once. Only the long form judges memory, which depends on when garbage is collected. */
const ATTEMPTS = quickOrLong(200, 10_000);
const MAX_GROWTH_BYTES = quickOrLong(Number.POSITIVE_INFINITY, 80 * MEGABYTE);

async function startConsole(databaseUrl: string, env: Record<string, string> = {}) {
  const directory = await createDirectory();
  const operators = join(directory, 'operators');
  await writeFile(operators, `${ADA} admin\n`);
  const port = await findFreePort();
  const consoleEnv = { CONSOLE_PORT: String(port), OPERATORS_FILE: operators, ...env };
  const usher = await startUsher(databaseUrl, consoleEnv);
  return { usher, port, url: `http://127.0.0.1:${port}` };
}

function createLink(databaseUrl: string, url: string): string {
  const { files } = optionsFor(databaseUrl);
  const key = Object.entries(files ?? {}).find(([name]) => name.includes('encryption'))?.[1] ?? '';
  return createSignInLink(deriveConsoleKeys([Buffer.from(key.trim(), 'base64')]), url, ADA, new Date());
}

interface Reply {
  readonly status: number | undefined;
  readonly location: string | undefined;
  readonly cookie: string;
  readonly body: string;
}

async function send(port: number, path: string, cookie = '', form?: string): Promise<Reply> {
  const headers = {
    ...(cookie && { cookie }),
    ...(form !== undefined && { 'sec-fetch-site': 'same-origin', 'content-type': 'application/x-www-form-urlencoded' }),
  };
  const method = form === undefined ? 'GET' : 'POST';
  const options = { host: '127.0.0.1', port, path, method, headers, agent: false, rejectUnauthorized: false } as const;
  const sent = httpsRequest(options).end(form);
  const [response] = await once(sent, 'response');
  const [given = ''] = response.headers['set-cookie'] ?? [];
  const { location } = response.headers;
  return { status: response.statusCode, location, cookie: given.split(';')[0] ?? '', body: await text(response) };
}

test('over TLS an operator signs in at one replica, works at both, and is signed out at both', {
  timeout,
}, async () => {
  await using database = await cloneDatabase();
  const certificate = await writeCertificate(await createDirectory());
  const consoleUrl = 'https://console.example.com';
  const env = { ...certificate, CONSOLE_URL: consoleUrl };
  const first = await startConsole(database.url, env);
  await using _ = first.usher;
  const second = await startConsole(database.url, env);
  await using __ = second.usher;
  const ports = [first.port, second.port];
  // Both load the pages before there are handshakes: a busy machine may need longer than a handshake may take.
  for (const port of ports) expect((await send(port, '/login')).status).toBe(303);
  const link = new URL(createLink(database.url, consoleUrl));
  for (const port of ports)
    expect((await send(port, link.pathname + link.search)).body).toContain('Sign in to the console');
  const token = new URLSearchParams({ link: link.searchParams.get('link') ?? '' }).toString();
  const eachFourTimes = ports.flatMap((port) => [port, port, port, port]);
  const replies = await Promise.all(eachFourTimes.map((port) => send(port, '/callback', '', token)));
  const [signedIn, ...others] = replies.filter(({ location }) => location === '/');
  expect(others).toEqual([]);
  const cookie = signedIn?.cookie ?? '';
  expect(cookie).toMatch(/^__Host-usher-console=/);
  for (const port of ports) expect((await send(port, '/users', cookie)).status).toBe(200);
  expect((await send(first.port, '/sign-out', cookie, '')).location).toBe('/login?out');
  expect((await send(first.port, '/users', cookie)).status).toBe(303);
  // Another replica may use what it has read for some seconds more.
  const statusAtSecond = async () => (await send(second.port, '/users', cookie)).status;
  await expect.poll(statusAtSecond, { timeout: 100_000 }).toBe(303);
});

test('the health page shows until when a renewed certificate is valid', { timeout }, async () => {
  await using database = await cloneDatabase();
  const directory = await createDirectory();
  const certificate = await writeCertificate(directory, new Date('2101-01-01T00:00:00Z'));
  const { usher, port } = await startConsole(database.url, certificate);
  await using _ = usher;
  const link = new URL(createLink(database.url, `https://localhost:${port}`));
  const { cookie } = await send(port, '/callback', '', link.searchParams.toString());
  const validTo = async () =>
    /Certificate until.*?<time datetime="([^"]*)/s.exec((await send(port, '/health', cookie)).body)?.[1];
  expect(await validTo()).toBe('2101-01-01T00:00:00.000Z');
  await writeCertificate(directory, new Date('2102-02-02T00:00:00Z'));
  await expect.poll(validTo, { timeout: 100_000 }).toBe('2102-02-02T00:00:00.000Z');
});

/** Runs the work, and returns what it cost the process. */
async function measure(usher: UsherProcess, work: () => Promise<number>) {
  const [bytes, ticks] = [usher.residentBytes(), cpuTicksOf(usher.pid)];
  const sent = await work();
  const cpuMs = (cpuTicksOf(usher.pid) - ticks) * 10;
  return { sent, cpuMs, grownBytes: usher.residentBytes() - bytes };
}

/** Returns the CPU time of the process in hundredths of a second. */
function cpuTicksOf(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
  return Number(fields[11]) + Number(fields[12]);
}

test('what needs no credential takes little: large bodies, slow heads, and many attempts to sign in', async (context) => {
  await using database = await cloneDatabase();
  const { usher, port, url } = await startConsole(database.url);
  await using _ = usher;
  const status = async (path: string) => (await request(url, { path })).status;
  // Loads the pages.
  for (let n = 0; n < 50; n++) await status('/');

  const chunk = Buffer.alloc(MEGABYTE, 'x');
  const bodies = await measure(usher, async () => {
    const written = await Promise.all(Array.from({ length: 10 }, () => sendBody(port, chunk, 100)));
    return written.reduce((sum, each) => sum + each, 0);
  });
  const heads = Array.from({ length: 200 }, () => connect(port, '127.0.0.1'));
  const slow = await measure(usher, async () => {
    for (const socket of heads) socket.on('error', () => {}).write('GET /users HTTP/1.1\r\nhost: x\r\nx-');
    for (let n = 0; n < 20; n++) expect(await status('/users')).toBe(303);
    return heads.length;
  });
  for (const socket of heads) socket.destroy();

  const tries: [string, () => Promise<unknown>][] = [
    ['links that are forged', () => request(url, { path: `/callback?link=${'A'.repeat(120)}` })],
    ['answers of no login', () => request(url, { path: `/callback?state=x&authToken=${'A'.repeat(300)}` })],
    ['cookies of no session', () => cookieOf(url)],
    ['logins', () => request(url, { path: '/login' })],
  ];
  const figures: string[] = [];
  for (const [name, attempt] of tries) {
    const { cpuMs, grownBytes } = await measure(usher, async () => {
      for (let n = 0; n < ATTEMPTS; n += 10) await Promise.all(Array.from({ length: 10 }, attempt));
      return ATTEMPTS;
    });
    figures.push(
      `${name}: ${Math.round((cpuMs / ATTEMPTS) * 1_000)} us, ${(grownBytes / MEGABYTE).toFixed(1)} MB in all`,
    );
    expect(grownBytes, name).toBeLessThan(MAX_GROWTH_BYTES);
  }
  const rows = (await database.sql`select from login_intents`).length;
  report(context, {
    tried: `10 bodies of 100 MB, 200 slow heads, ${ATTEMPTS} attempts each`,
    lost: 'none',
    figures: `bodies: ${bodies.cpuMs} ms and ${(bodies.grownBytes / MEGABYTE).toFixed(1)} MB for ${(bodies.sent / MEGABYTE).toFixed(1)} MB taken; heads: ${(slow.grownBytes / MEGABYTE).toFixed(1)} MB; ${figures.join('; ')}; ${rows} logins stored`,
  });
  // Refused after 16 KiB: what the kernel had taken by then is all that was sent.
  expect(bodies.sent).toBeLessThan(10 * 20 * MEGABYTE);
  expect(bodies.grownBytes).toBeLessThan(MAX_GROWTH_BYTES);
  expect(slow.grownBytes).toBeLessThan(MAX_GROWTH_BYTES);
  // A network has a hundred at once, and one in ten seconds.
  expect(rows).toBeLessThan(100 + ATTEMPTS / 4);
  expect(await status('/users')).toBe(303);
});

function cookieOf(url: string) {
  return request(url, { path: '/users', headers: { cookie: `usher-console=${crypto.randomUUID()}` } });
}

/** Sends a body until the server closes the connection. Returns how many bytes went out. */
async function sendBody(port: number, chunk: Buffer, chunks: number): Promise<number> {
  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => {});
  socket.resume();
  const closed = new Promise((resolve) => socket.on('close', resolve));
  socket.write(
    `POST /callback HTTP/1.1\r\nhost: x\r\nsec-fetch-site: same-origin\r\ncontent-type: application/x-www-form-urlencoded\r\ncontent-length: ${chunk.length * chunks}\r\n\r\n`,
  );
  for (let n = 0; n < chunks && !socket.destroyed && socket.writable; n++) {
    if (!socket.write(chunk)) await Promise.race([once(socket, 'drain').catch(() => {}), closed]);
  }
  socket.destroy();
  return socket.bytesWritten;
}
