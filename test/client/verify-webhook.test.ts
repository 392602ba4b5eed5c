import { Webhook } from 'standardwebhooks';
import { expect, test } from 'vitest';
import { verifyWebhook } from '../../src/client/verify-webhook.ts';

const SECRET = 'whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oDV2NqZcCqqhc=';
const OTHER_SECRET = 'whsec_4L2hTVtbPVYkXb8EFLLvCyBrHMMXt0qCJR5rSmcVVdg=';
const BODY = '{"type":"session.created","timestamp":"2026-01-02T03:04:05.678Z","data":{"user":{"name":"Zoë 🦊"}}}';
const NOW = Date.now();
const MESSAGE = { id: 'msg_1', ...JSON.parse(BODY) };

test('accepts what the official library signs', async () => {
  const headers = sign();
  expect(await verifyWebhook(SECRET, headers, BODY)).toEqual(MESSAGE);
  expect(await verifyWebhook(SECRET, new Headers(headers), new TextEncoder().encode(BODY))).toEqual(MESSAGE);
  expect(await verifyWebhook(SECRET, upperCase(headers), Buffer.from(BODY))).toEqual(MESSAGE);
  new Webhook(SECRET).verify(BODY, headers);
});

test.each([240, -240])('accepts a message of a clock that differs by %i seconds', async (age) => {
  expect(await verifyWebhook(SECRET, sign({ age }), BODY)).toEqual(MESSAGE);
});

test('accepts a message that is signed with several keys', async () => {
  const signatures = [sign({ secret: OTHER_SECRET }), sign()].map((headers) => headers['webhook-signature']);
  const headers = { ...sign(), 'webhook-signature': ['v1a,abc', '', ...signatures].join(' ') };
  expect(await verifyWebhook(SECRET, headers, BODY)).toEqual(MESSAGE);
  await expect(verifyWebhook(OTHER_SECRET, headers, BODY)).resolves.toEqual(MESSAGE);
});

test.each([
  ['another key', { headers: sign({ secret: OTHER_SECRET }) }, 'No signature matches'],
  ['another body', { body: BODY.replace('Zoë', 'Eve') }, 'No signature matches'],
  ['another ID', { headers: { ...sign(), 'webhook-id': 'msg_2' } }, 'No signature matches'],
  ['no ID', { headers: { ...sign(), 'webhook-id': undefined } }, 'webhook-id is missing'],
  ['no signature', { headers: { ...sign(), 'webhook-signature': '' } }, 'webhook-signature is missing'],
  ['a signature of another version', { headers: relabel('v2,') }, 'No signature matches'],
  ['a signature that is not base64', { headers: relabel('v1,%') }, 'No signature matches'],
  ['six minutes of age', { headers: sign({ age: 360 }) }, 'too old or too new'],
  ['six minutes in the future', { headers: sign({ age: -360 }) }, 'too old or too new'],
  ['a time that is no number', { headers: { ...sign(), 'webhook-timestamp': 'NaN' } }, 'too old or too new'],
])('refuses a message with %s', async (_, { headers = sign(), body = BODY }: Partial<Sent>, message) => {
  const verified = verifyWebhook(SECRET, headers, body);
  await expect(verified).rejects.toMatchObject({
    name: 'WebhookVerificationError',
    message: expect.stringContaining(message),
  });
});

test.each(['', 'whsec_', 'whsec_%', SECRET.slice(6)])('refuses the secret "%s"', async (secret) => {
  await expect(verifyWebhook(secret, sign(), BODY)).rejects.toThrow(TypeError);
});

interface Sent {
  readonly headers: Record<string, string | undefined>;
  readonly body: string;
}

function sign({ secret = SECRET, age = 0 } = {}) {
  const at = new Date(NOW - age * 1000);
  return {
    'webhook-id': 'msg_1',
    'webhook-timestamp': String(Math.floor(at.getTime() / 1000)),
    'webhook-signature': new Webhook(secret).sign('msg_1', at, BODY),
  };
}

function relabel(version: string) {
  const headers = sign();
  return { ...headers, 'webhook-signature': headers['webhook-signature'].replace('v1,', version) };
}

function upperCase(headers: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toUpperCase(), value]));
}
