/** The path at which a running Usher tells `check` how it sees a request: strangers learn nothing there. */
import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  createQuestion,
  readAnswer,
  SELF_CHECK_HEADER,
  SELF_CHECK_PATH,
} from '../../../src/api/operations/self-check.ts';
import { request } from '../../support/http.ts';
import { startTestService, type TestService } from '../../support/service.ts';

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});
afterAll(() => service.close());

const keys = () => service.config.secrets.encryptionKeys ?? [];
const send = (question: string, body = '', path = SELF_CHECK_PATH) =>
  request(service.url, { method: 'POST', path, headers: { [SELF_CHECK_HEADER]: question }, body });

test('answers who has the key, and only to its nonce', async () => {
  const reply = await send(createQuestion(keys(), 'nonce', Date.now()), 'four');
  expect(reply.status).toBe(200);
  const text = reply.body;
  expect(readAnswer(keys(), 'nonce', text)).toMatchObject({
    nonce: 'nonce',
    bodyBytes: 4,
    clientAddress: '127.0.0.1',
    host: new URL(service.url).host,
    isFromTrustedProxy: false,
  });
  expect(readAnswer(keys(), 'other', text)).toBeUndefined();
  expect(readAnswer([randomBytes(32)], 'nonce', text)).toBeUndefined();
});

test.each<[string, () => string]>([
  ['nothing', () => ''],
  ['noise', () => 'A'.repeat(8_000)],
  ['a question of another key', () => createQuestion([randomBytes(32)], 'nonce', Date.now())],
  ['a question that is too old', () => createQuestion(keys(), 'nonce', Date.now() - 65_000)],
  ['a question of the future', () => createQuestion(keys(), 'nonce', Date.now() + 65_000)],
  ['a question without a time', () => createQuestion(keys(), 'nonce', Number.NaN)],
])('is to %s what a path that does not exist is', async (_, question) => {
  const [here, nowhere] = await Promise.all([send(question()), send(question(), '', '/nothing')]);
  const content = ({ status, headers, body }: typeof here) => ({
    status,
    body,
    headers: { ...headers, date: '', 'x-request-id': '' },
  });
  expect(content(here)).toEqual(content(nowhere));
  expect(here.status).toBe(404);
});

test('is to an answer that comes back what a path that does not exist is', async () => {
  const { body } = await send(createQuestion(keys(), 'nonce', Date.now()));
  const { status } = await send(JSON.parse(body).answer);
  expect(status).toBe(404);
});

test('takes no more than a call may have', async () => {
  const { status } = await send(createQuestion(keys(), 'nonce', Date.now()), 'x'.repeat(65_537));
  expect(status).toBe(413);
});
