import { randomBytes } from 'node:crypto';
import { Webhook } from 'standardwebhooks';
import { expect, test } from 'vitest';
import { readSigningKey, signMessage } from '../../src/delivery/signature.ts';

const createKey = () => `whsec_${randomBytes(32).toString('base64')}`;
const body = '{"type":"check_in.created","data":{"attendeeId":"Zoë \\ud83d \\"x\\" 😀"}}';

function headersFor(signingKeys: readonly string[], timestamp = Math.floor(Date.now() / 1_000)) {
  return {
    'webhook-id': 'msg_1',
    'webhook-timestamp': String(timestamp),
    'webhook-signature': signMessage({ id: 'msg_1', timestamp, body }, signingKeys.map(readSigningKey)),
  };
}

test('standardwebhooks verifies a message with every key that has signed it, and with no other', () => {
  const keys = [createKey(), createKey(), createKey()];
  const headers = headersFor(keys);
  for (const key of keys) expect(new Webhook(key).verify(body, headers)).toEqual(JSON.parse(body));
  expect(() => new Webhook(createKey()).verify(body, headers)).toThrow('No matching signature found');
  expect(() => new Webhook(keys[0] ?? '').verify(`${body} `, headers)).toThrow('No matching signature found');
});

test('signs with the bytes of the key, not with its text', () => {
  const key = createKey();
  const timestamp = Math.floor(Date.now() / 1_000);
  const reference = new Webhook(key).sign('msg_1', new Date(timestamp * 1_000), body);
  expect(headersFor([key], timestamp)['webhook-signature']).toBe(reference);
});
