/** What a provider can make Usher do: ask nobody without https, follow nothing, and read and wait within limits. */
import { afterAll, expect, test } from 'vitest';
import { createProviderFetch, isOnLoopback } from '../../../src/modules/providers/domain/provider-fetch.ts';
import { FakeProvider } from '../../support/fake-provider.ts';

const acme = await FakeProvider.start();
afterAll(() => acme.stop());

const onLoopback = createProviderFetch({ timeoutMs: 60_000, isLoopback: true });
const elsewhere = createProviderFetch({ timeoutMs: 60_000, isLoopback: false });

test('a provider elsewhere reaches nothing on this machine, and nothing without https', async () => {
  const before = acme.requests.length;
  for (const url of [
    `${acme.origin}/keys`,
    'http://169.254.169.254/',
    'http://[::ffff:127.0.0.1]/',
    'file:///etc/passwd',
  ])
    await expect(elsewhere(url)).rejects.toThrow('insecure URL');
  expect(acme.requests).toHaveLength(before);
});

test('a provider on this machine reaches nothing else without https', async () => {
  for (const url of [
    'http://169.254.169.254/',
    'http://127.0.0.1.evil.test/',
    'http://localhost.evil.test/',
    'data:,a',
  ])
    await expect(onLoopback(url)).rejects.toThrow('insecure URL');
  expect((await onLoopback(`${acme.origin}/keys`)).status).toBe(200);
});

test.each([
  ['http://localhost:8080/', true],
  ['http://[::1]/', true],
  ['http://127.1.2.3/', true],
  ['http://localhost.test/', false],
  ['http://[::2]/', false],
])('%s is on this machine: %s', (url, expected) => {
  expect(isOnLoopback(new URL(url))).toBe(expected);
});

test('an answer without a body is one', async () => {
  acme.answers.set('/nothing', (_request, response) => void response.writeHead(204).end());
  expect((await onLoopback(`${acme.origin}/nothing`)).status).toBe(204);
});

test('no redirect is followed', async () => {
  acme.answers.set('/moved', (_request, response) => void response.writeHead(302, { location: '/target' }).end());
  expect((await onLoopback(`${acme.origin}/moved`)).status).toBe(302);
  expect(acme.requests).not.toContain('/target');
});

test.each([
  [262_144, 200],
  [262_145, undefined],
])('an answer of %i bytes has the status %s', async (bytes, status) => {
  acme.answers.set('/large', (_request, response) => void response.end('a'.repeat(bytes)));
  const answer = await onLoopback(`${acme.origin}/large`).catch(() => undefined);
  expect(answer?.status).toBe(status);
});

test('no more than 256 KiB are read', async () => {
  let isClosed = false;
  acme.answers.set('/huge', (_request, response) => {
    response.on('close', () => {
      isClosed = true;
    });
    const more = () => {
      while (!isClosed && response.write('a'.repeat(65_536)));
      if (!isClosed) response.once('drain', more);
    };
    more();
  });
  await expect(onLoopback(`${acme.origin}/huge`)).rejects.toThrow();
  await expect.poll(() => isClosed).toBe(true);
});

test.each<[string, boolean]>([
  ['never begins', false],
  ['begins and never ends', true],
])('an answer that %s is given up', async (_, begins) => {
  let isClosed = false;
  acme.answers.set('/slow', (_request, response) => {
    response.on('close', () => {
      isClosed = true;
    });
    if (begins) response.write('{');
  });
  const impatient = createProviderFetch({ timeoutMs: 200, isLoopback: true });
  await expect(impatient(`${acme.origin}/slow`)).rejects.toThrow();
  await expect.poll(() => isClosed).toBe(true);
});
