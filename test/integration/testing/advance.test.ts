/** `advance` moves everything that time moves: sessions, keys, retries, jobs, caches, and streams. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createUsherClient, reasonOf } from '../../../src/client/usher-client.ts';
import { startUsher } from '../../../src/testing/usher-testing.ts';
import { fileOf, newDeclaredKey } from '../../support/declared-fixture.ts';
import { createDirectory } from '../../support/directory.ts';
import { startWithDatabase } from '../../support/find-test-database.ts';

const REDIRECT_URI = 'http://127.0.0.1/callback';
const AT = '2030-01-01T10:00:00Z';

/** Ten attempts at the seconds 0, 5, 305, 2105, 9305, 27305, 63305, 113705, 185705 and 272105. */
const ROWS = [
  { duration: '1s', isActive: true, hasKey: true, attempts: 1, hasSessionRow: true, hasSignIn: true },
  { duration: '16m', isActive: false, hasKey: true, attempts: 3, hasSessionRow: false, hasSignIn: true },
  { duration: '13h', isActive: false, hasKey: true, attempts: 6, hasSessionRow: false, hasSignIn: true },
  { duration: '91d', isActive: false, hasKey: false, attempts: 10, hasSessionRow: false, hasSignIn: false },
  { duration: '400d', isActive: false, hasKey: false, attempts: 10, hasSessionRow: false, hasSignIn: false },
];

/** Starts a server with an application of a file, a session, a stream of its messages and a webhook. */
async function open() {
  const [lasting, short] = [newDeclaredKey('lasting'), newDeclaredKey('short')];
  const keys = [lasting.key, { ...short.key, expiresAt: '2030-01-02T00:00:00Z' }];
  const path = join(await createDirectory(), 'applications.json');
  const shop = { clientId: 'shop', name: 'Shop', redirectUris: [REDIRECT_URI], allowSignUp: true, messageFeed: true };
  await writeFile(path, fileOf({ ...shop, keys }));
  const started = await startWithDatabase(() => startUsher({ applications: path, at: AT }));
  const { usher } = started;
  usher.clock.freeze();
  const [client, shortClient] = [lasting, short].map(({ apiKey }) => createUsherClient({ baseUrl: usher.url, apiKey }));
  if (!client || !shortClient) throw new Error('There are two keys');
  const { applications } = await usher.admin.listApplications({});
  const id = applications.find(({ clientId }) => clientId === 'shop')?.id ?? '';
  const login = { clientId: 'shop', redirectUri: REDIRECT_URI, state: 'a state' };
  const { authUrl } = await client.auth.generateAuthUrl(login);
  const { authToken = '' } = await usher.signIn(authUrl, 'ada@example.com');
  const { session } = await client.auth.exchangeToken({ authToken });
  const sessionId = session?.id ?? '';
  const isActive = async () => (await client.sessions.checkSession({ sessionId })).active;
  return { ...started, client, shortClient, id, isActive };
}

test.each(ROWS)('by $duration', async ({ duration, ...expected }) => {
  await using started = await open();
  const { usher, database, client, shortClient, id, isActive } = started;
  await using inbox = await usher.receiveWebhooks({ id, client }, ['event.created']);
  inbox.fail(100);
  await client.events.createEvent({ eventId: 'a' });
  await usher.settle();
  const stop = new AbortController();
  const stream = client.messages.watch({ signal: stop.signal });
  await stream.next();
  expect(await isActive()).toBe(true);
  const told = stream.next();
  await usher.clock.advance(duration);
  // Real time: the heartbeat would come after 15 s.
  const startedAt = performance.now();
  expect((await told).done).toBe(false);
  expect(performance.now() - startedAt).toBeLessThan(10_000);
  stop.abort();
  const refusal = await shortClient.events.listEvents({}).catch(reasonOf);
  const rows = await database.sql`select from sessions`;
  const events = await usher.auditEvents({ action: 'POST /login/code' });
  expect({
    isActive: await isActive(),
    hasKey: refusal !== 'INVALID_API_KEY',
    attempts: inbox.attempts,
    hasSessionRow: rows.length > 0,
    hasSignIn: events.length > 0,
  }).toEqual(expected);
});

test('what another replica has ended is not cached for longer than its bound, by the clock of Usher', async () => {
  await using started = await open();
  const { usher, database, isActive } = started;
  expect(await isActive()).toBe(true);
  await database.sql`delete from session_ids`;
  await usher.clock.advance('6s');
  expect(await isActive()).toBe(false);
});

test('a stream ends when its key has expired', async () => {
  await using started = await open();
  const { usher, shortClient } = started;
  await usher.settle();
  const stream = shortClient.messages.watch({});
  await stream.next();
  const ended = (async () => {
    for await (const _ of stream);
  })().catch(reasonOf);
  await usher.clock.advance('15h');
  expect(await ended).toBe('INVALID_API_KEY');
});
