import { expect, test } from 'vitest';
import { createTextEndpoint } from '../../src/reference/static-text.ts';
import { serveListener } from '../integration/http/serve-listener.ts';
import { request } from '../support/http.ts';

test('a text that could not be loaded is loaded again for the next request, and then no more', async () => {
  let loads = 0;
  const sendText = createTextEndpoint(async () => {
    if (++loads === 1) throw new Error('too many open files');
    return { text: 'a text', headers: {} };
  });
  await using listener = await serveListener(sendText);
  expect(await request(listener.url, { path: '/' })).toMatchObject({ status: 500 });
  expect(await request(listener.url, { path: '/' })).toMatchObject({ status: 200, body: 'a text' });
  expect(await request(listener.url, { path: '/' })).toMatchObject({ status: 200, body: 'a text' });
  expect(loads).toBe(2);
});
