/** Prints the messages of an application as they come: USHER_URL=... API_KEY=... npx tsx app.mts */
import { readFile, rename, writeFile } from 'node:fs/promises';
import { createUsherClient } from 'usher-client';

const { USHER_URL = 'http://localhost:8080', API_KEY = '', CURSOR_FILE = 'cursor' } = process.env;
const client = createUsherClient({ baseUrl: USHER_URL, apiKey: API_KEY });
const stopping = new AbortController();
process.once('SIGTERM', () => stopping.abort());

const cursor = await readFile(CURSOR_FILE, 'utf8').catch(() => 'oldest');
const onRetry = (error: unknown) => console.error(String(error));
for await (const found of client.messages.watch({ cursor, signal: stopping.signal, onRetry })) {
  // A message may come again: handle each `messageId` once.
  for (const { messageId, type, data } of found.messages) console.log(messageId, type, JSON.stringify(data));
  // A service keeps the cursor in its database, in the transaction that has the effects of the messages.
  await writeFile(`${CURSOR_FILE}.new`, found.cursor);
  await rename(`${CURSOR_FILE}.new`, CURSOR_FILE);
}
