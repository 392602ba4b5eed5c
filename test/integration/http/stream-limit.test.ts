import { expect, test } from 'vitest';
import { openHttp2Session } from '../../support/http2-session.ts';
import { serveListener } from './serve-listener.ts';

const STREAMS = 100;
/** Streams of so many headers count for more than six others. */
const HEADERS = Object.fromEntries(Array.from({ length: 100 }, (_, at) => [`x-${at}`, '']));
const REFUSED = 7;

test('connections with many open streams leave some to others, and get theirs back', async () => {
  await using server = await serveListener(({ request, response }) => {
    request.resume().once('end', () => response.end());
  });
  const crowd = Array.from({ length: 30 }, () => openHttp2Session(server.url));
  const streams = crowd.flatMap(({ open }) =>
    Array.from({ length: STREAMS }, () => open({ ':method': 'POST', ...HEADERS })),
  );
  const countRefused = () => streams.filter(({ rstCode }) => rstCode === REFUSED).length;
  // With the first that is refused, others may still be on their way, and it leaves room for a moment.
  await expect.poll(countRefused).toBeGreaterThan(STREAMS);

  using other = openHttp2Session(server.url);
  expect(await Promise.all([other.exchange({}), other.exchange({})])).toMatchObject([{ status: 200 }, { status: 200 }]);
  const maxOfOther = () => other.session.remoteSettings.maxConcurrentStreams;
  await expect.poll(maxOfOther).toBeLessThan(STREAMS);

  for (const member of crowd) member[Symbol.dispose]();
  await expect.poll(maxOfOther).toBe(STREAMS);
  const replies = await Promise.all(Array.from({ length: STREAMS }, () => other.exchange({})));
  expect(new Set(replies.map(({ status }) => status))).toEqual(new Set([200]));
  expect(countRefused()).toBeLessThan(streams.length / 2);
});
