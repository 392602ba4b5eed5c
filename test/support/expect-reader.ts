/** Judges an example that reads messages: it goes on where it was, when it and when Usher restarts. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { expect } from 'vitest';
import { cloneDatabase } from './database.ts';
import { createDirectory } from './directory.ts';
import { findFreePort } from './free-port.ts';
import { adminClient, clientsOf, createTenant, startTestService } from './service.ts';

export async function expectReader(
  [program, ...parameters]: readonly [string, ...string[]],
  env: Record<string, string> = {},
): Promise<void> {
  await using stack = new AsyncDisposableStack();
  const database = stack.use(await cloneDatabase());
  const config = { port: await findFreePort(), webhookDelivery: true };
  const first = stack.use(await startTestService({ database, config }));
  const tenant = await createTenant(first, { messageFeed: true });
  const { events } = clientsOf(first, tenant);
  const CURSOR_FILE = join(await createDirectory(), 'cursor');
  const start = () => {
    const given = { USHER_URL: first.url, API_KEY: tenant.apiKey, CURSOR_FILE, ...env };
    const child = spawn(program, parameters, { env: given, stdio: ['ignore', 'pipe', 'pipe'] });
    stack.defer(() => void child.kill('SIGKILL'));
    return { child, output: collect(child) };
  };
  const told = (eventId: string) => new RegExp(`^msg_\\d+ event\\.created .*"eventId": ?"${eventId}"`, 'm');

  const before = start();
  for (const eventId of ['first', 'second']) {
    await events.createEvent({ eventId });
    await expect.poll(before.output).toMatch(told(eventId));
  }
  before.child.kill();
  await once(before.child, 'exit');
  await events.createEvent({ eventId: 'meanwhile' });
  const after = start();
  await expect.poll(after.output).toMatch(told('meanwhile'));
  // It has stored its cursor before it read the second one.
  expect(after.output()).not.toMatch(told('first'));

  await first.close();
  const second = stack.use(await startTestService({ database, like: first.config }));
  await events.createEvent({ eventId: 'restarted' });
  await expect.poll(after.output).toMatch(told('restarted'));
  await adminClient(second).revokeApiKey({ apiKeyId: tenant.apiKeyId });
  const exited = after.child.exitCode ?? (await once(after.child, 'exit'))[0];
  expect({ exited, output: after.output() }).toEqual({ exited: 1, output: expect.stringContaining('Invalid API key') });
}

/** Returns what returns all that the process has written. */
function collect(child: ChildProcess): () => string {
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream?.setEncoding('utf8').on('data', (text) => {
      output += text;
    });
  return () => output;
}
