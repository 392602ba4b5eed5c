/** Notices of changes to an account are as durable as the changes: no crash loses one. */
import { afterAll, expect, test } from 'vitest';
import { cloneDatabase } from '../support/database.ts';
import { MailServer, startSocketServer } from '../support/mail-server.ts';
import { startUsher } from '../support/process.ts';
import { adminClient, createTestUser, type TestUser } from '../support/service.ts';
import { quickOrLong, report } from '../support/soak.ts';

const USERS = quickOrLong(24, 60);
/** So many changes are acknowledged before the crash. The others are under way, or come later. */
const BEFORE = quickOrLong(8, 20);

const database = await cloneDatabase();
const mail = await MailServer.start();
afterAll(async () => {
  await mail[Symbol.asyncDispose]();
  await database[Symbol.asyncDispose]();
});

const env = { LOGIN_METHODS: 'email', MAIL_FROM: 'Usher <login@usher.test>' };

test('kill -9 of the process that makes changes loses no notice of an acknowledged one', async (context) => {
  const changed: TestUser[] = [];
  {
    // Never answers, so that the crash comes before the first e-mail.
    await using silent = await startSocketServer(() => {});
    await using usher = await startUsher(database.url, { ...env, SMTP_URL: `smtp://127.0.0.1:${silent.port}` });
    const users = await Promise.all(Array.from({ length: USERS }, () => createTestUser(usher)));
    const enough = Promise.withResolvers<void>();
    const change = async (user: TestUser) => {
      await adminClient(usher).updateUser({ userId: user.id, email: `new-${user.email}` });
      changed.push(user);
      if (changed.length === BEFORE) enough.resolve();
    };
    const changes = Promise.allSettled(users.map(change));
    await enough.promise;
    await usher.end('SIGKILL');
    await changes;
  }
  const stored = (await database.sql`select from notices`).length;

  await using next = await startUsher(database.url, { ...env, SMTP_URL: mail.url });
  // A notice that the killed process was sending is due after a minute.
  await database.sql`update notices set due_at = now()`;
  await adminClient(next).deleteUser({ userId: (await createTestUser(next)).id });
  await expect.poll(async () => (await database.sql`select from notices`).length, { timeout: 200_000 }).toBe(0);
  const received = mail.emails.flatMap(({ to }) => to);
  report(context, {
    tried: `kill -9 after ${changed.length} changes; the next process found ${stored} notices`,
    lost: `${changed.filter(({ email }) => !received.includes(email)).length} of ${changed.length} notices`,
  });
  expect(stored).toBeGreaterThanOrEqual(changed.length);
  expect(changed.filter(({ email }) => !received.includes(email))).toEqual([]);
});
