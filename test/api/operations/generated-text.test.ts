import { expect, test } from 'vitest';
import { createTextEndpoint } from '../../../src/api/operations/generated-text.ts';
import { parseTrustedProxies } from '../../../src/config/trusted-proxies.ts';
import { openListener } from '../../../src/http/listener.ts';
import { request } from '../../support/http.ts';

test('a text that could not be loaded is loaded again for the next request, and then no more', async () => {
  let loads = 0;
  const sendText = createTextEndpoint(async () => {
    if (++loads === 1) throw new Error('too many open files');
    return { text: 'a text', headers: {} };
  });
  await using stack = new AsyncDisposableStack();
  const listener = await openListener({
    host: '127.0.0.1',
    port: 0,
    tls: undefined,
    trustedProxies: parseTrustedProxies([]),
    renderError: (reason) => reason,
  });
  stack.defer(() => listener.close(1_000));
  listener.serve({
    handle: sendText,
    handleStream: () => false,
    pathsWithoutHost: new Set(),
    onError: () => {},
  });
  const url = `http://127.0.0.1:${listener.port}`;
  expect(await request(url, { path: '/' })).toMatchObject({ status: 500 });
  expect(await request(url, { path: '/' })).toMatchObject({ status: 200, body: 'a text' });
  expect(await request(url, { path: '/' })).toMatchObject({ status: 200, body: 'a text' });
  expect(loads).toBe(2);
});
