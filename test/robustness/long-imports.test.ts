/** An import whose lines come slowly: each has its answer, although other requests must arrive within seconds. */
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { request } from 'node:http';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { CLIENT_TIMEOUT_MS } from '../../src/http/connections.ts';
import { ADMIN_KEY, startTestService } from '../support/service.ts';

const LINES = 12;

test('an import over HTTP/1.1 may take longer than other requests', async () => {
  await using service = await startTestService();
  const sending = request(`${service.url}/admin/users.jsonl`, {
    method: 'POST',
    headers: { 'x-admin-key': ADMIN_KEY },
  });
  const answered = once(sending, 'response');
  for (let line = 0; line < LINES; line++) {
    sending.write(`${JSON.stringify({ email: `${randomUUID()}@example.com` })}\n`);
    await sleep((CLIENT_TIMEOUT_MS * 1.5) / LINES);
  }
  sending.end();
  const [response] = await answered;
  const answers = (await text(response)).trim().split('\n');
  expect(answers.map((answer) => JSON.parse(answer).status)).toEqual(Array(LINES).fill('created'));
});
