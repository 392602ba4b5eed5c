/** The file of a replica: what a start costs that has nothing to do, what waits while it is applied, and what the log says. */
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, describe, expect, test, vi } from 'vitest';
import { DEFAULT_SCHEMA } from '../../../../src/config/database-url.ts';
import { Database, DatabaseUnavailableError, type Run } from '../../../../src/database/pool/database.ts';
import { getApplication } from '../../../../src/domain/applications/get-application.ts';
import { openDeclared } from '../../../../src/modules/declared/open-declared.ts';
import { deriveApplicationId } from '../../../../src/modules/declared/parse-applications-file.ts';
import type { ReadModuleHealth } from '../../../../src/modules/module.ts';
import { cloneDatabase, LAYOUT } from '../../../support/database.ts';
import { GRAFANA, newDeclaredKey, openDeclaredFixture } from '../../../support/declared-fixture.ts';
import { createDirectory } from '../../../support/directory.ts';
import { holdLock, waitForLockOf } from '../../../support/lock.ts';
import { RecordedLog } from '../../../support/recorded-log.ts';
import {
  adminClient,
  beginSession,
  clientsOf,
  createLoginIntent,
  createTestUser,
  logIn,
  startTestService,
} from '../../../support/service.ts';

const ENTRIES = 1_000;
const REDIRECT_URI = 'https://app.test/callback';

const service = await startTestService();
const replica = await startTestService({ database: service.database, like: service.config });
const declared = openDeclaredFixture(service.database);
const database = new Database(service.database.url, {
  connections: 2,
  statementTimeoutMs: 30_000,
  layout: LAYOUT,
  schema: DEFAULT_SCHEMA,
});
afterAll(async () => {
  await database.close();
  await declared[Symbol.asyncDispose]();
  await replica.close();
  await service.close();
});
const admin = adminClient(service);
const WITHIN = { timeout: 30_000, interval: 100 };

const keys = Array.from({ length: 3 }, () => newDeclaredKey('first'));
const clientIdOf = (index: number) => `application-${index}`;

/** Returns a file of many entries. The first have keys. */
function fileAt(revision: number, name: string, entries = ENTRIES): string {
  const applications = Array.from({ length: entries }, (_, index) => ({
    clientId: clientIdOf(index),
    name,
    redirectUris: [REDIRECT_URI],
    ...(keys[index] && { keys: [keys[index].key] }),
  }));
  return JSON.stringify({ revision, applications });
}

function tenantOf(index: number) {
  const clientId = clientIdOf(index);
  return { id: deriveApplicationId(clientId), clientId, name: '', apiKeyId: '', apiKey: keys[index]?.apiKey ?? '' };
}

/** Opens the file as a replica does, with nothing else of it. */
async function open(text: string, path: string, at: Pick<Database, 'eachWithin' | 'transact'> = database) {
  const log = new RecordedLog();
  const closing = new AbortController();
  const health = new Set<ReadModuleHealth>();
  const clear = vi.fn();
  const opened = await openDeclared({ text, path }, {
    apiKeys: { clear },
    clock: () => new Date(),
    closing: closing.signal,
    database: at,
    health,
    logger: log.logger,
    onMessage() {},
    providers: { issuers: new Map([['acme', 'https://acme.test']]) },
    requestTimeoutMs: 30_000,
  } as unknown as Parameters<typeof openDeclared>[1]);
  return {
    ...{ log, clear },
    async readHealth() {
      const [read] = health;
      return read?.({ run: at.eachWithin(30_000) });
    },
    async [Symbol.asyncDispose]() {
      closing.abort();
      await opened[Symbol.asyncDispose]?.();
    },
  };
}

describe('the log and health of a replica', () => {
  test('name each file that is not in force once', { timeout: 120_000 }, async () => {
    const fileOf = (revision: number | undefined, name: string) =>
      JSON.stringify({ revision, applications: [{ ...GRAFANA, name }] });
    await declared.apply(fileAt(8, 'Gone', 11));
    await declared.apply(fileOf(10, 'In force'));
    const path = join(await createDirectory(), 'applications.json');
    await writeFile(path, fileOf(9, 'Old'));
    await using replica = await open(fileOf(9, 'Old'), path);
    const warnings = () =>
      replica.log.parsed.filter(({ level }) => level >= 40).map(({ msg, revision }) => [msg, revision]);
    const OLDER = ['applications file is older than the one that was applied', 9];
    const DIFFERENT = ['applications file differs from the one that was applied', 10];
    const WITHOUT = ['applications file has no revision, unlike the one that was applied', null];
    expect(warnings()).toEqual([OLDER]);
    const edit = async (text: string, expected: readonly unknown[]) => {
      await writeFile(path, text);
      await expect.poll(warnings, WITHIN).toEqual(expected);
    };
    // Somebody who forgets the revision learns it after each change.
    await edit(fileOf(10, 'Forgotten'), [OLDER, DIFFERENT]);
    await edit(fileOf(10, 'Forgotten again'), [OLDER, DIFFERENT, DIFFERENT]);
    await edit(fileOf(undefined, 'None'), [OLDER, DIFFERENT, DIFFERENT, WITHOUT]);
    expect(await replica.readHealth()).toMatchObject({
      problems: ['The applications file has no revision, unlike the one that was applied.'],
      facts: [
        ['Revision', 'none'],
        ['Declared', '1'],
        ['No longer in the file', expect.stringMatching(/^application-0, (application-\d+(, )?){9}$/)],
      ],
    });
    await writeFile(path, fileOf(11, 'Raised'));
    await expect.poll(async () => (await replica.readHealth())?.problems, WITHIN).toEqual([]);
    // Another replica applies a later file.
    await declared.apply(fileOf(12, 'Of another replica'));
    await expect.poll(warnings, WITHIN).toHaveLength(5);
    expect(warnings().at(-1)).toEqual([OLDER[0], 11]);
    expect((await replica.readHealth())?.problems).toEqual([`The ${OLDER[0]}.`]);
  });
});

/** Opens a database of its own that answers no statement while `isDown`. */
async function openOther() {
  await using stack = new AsyncDisposableStack();
  const clone = stack.use(await cloneDatabase());
  const { database } = stack.use(openDeclaredFixture(clone));
  const fixture = stack.use(openDeclaredFixture(clone));
  const all = stack.move();
  const other = {
    ...{ fixture, isDown: false, unanswered: 0 },
    transact: database.transact.bind(database),
    eachWithin: (ms: number): Run => {
      const run = database.eachWithin(ms);
      return async (...statement) => {
        if (!other.isDown) return run(...statement);
        other.unanswered++;
        throw new DatabaseUnavailableError('Postgres does not answer');
      };
    },
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
  return other;
}

describe('a replica on its own', () => {
  const fileOf = (name: string, more: object = {}) => JSON.stringify({ applications: [{ ...GRAFANA, name, ...more }] });
  const createPath = async () => join(await createDirectory(), 'applications.json');

  test('says what is wrong with its file until it is right', { timeout: 60_000 }, async () => {
    await using other = await openOther();
    const path = await createPath();
    const first = fileOf('First', { loginMethods: ['email', 'acme'] });
    await writeFile(path, first);
    await using replica = await open(first, path, other);
    const problems = async () => (await replica.readHealth())?.problems;
    expect(await replica.readHealth()).toMatchObject({
      problems: [],
      facts: [
        ['Revision', 'none'],
        ['Declared', '1'],
        ['No longer in the file', 'none'],
      ],
    });
    await writeFile(path, fileOf('Second', { loginMethods: ['fax'] }));
    const LOGIN = 'loginMethods must be methods of Usher or listed providers';
    await expect.poll(problems, WITHIN).toEqual([`APPLICATIONS_FILE applications[0] (grafana): ${LOGIN}.`]);
    await rm(path);
    await expect.poll(problems, WITHIN).toEqual(['APPLICATIONS_FILE names a file that cannot be read.']);
    await writeFile(path, fileOf('Third'));
    await expect.poll(problems, WITHIN).toEqual([]);
  });

  test('applies a file late that changes while Postgres does not answer', { timeout: 60_000 }, async () => {
    await using other = await openOther();
    const path = await createPath();
    await writeFile(path, fileOf('First'));
    await using replica = await open(fileOf('First'), path, other);
    other.isDown = true;
    await writeFile(path, fileOf('Second'));
    const messages = () => replica.log.parsed.map(({ msg }) => msg);
    await expect.poll(messages, WITHIN).toContain('applications not applied yet');
    expect(await replica.readHealth()).toMatchObject({
      problems: ['APPLICATIONS_FILE is not applied yet, because Postgres does not answer.'],
      facts: [
        ['Revision', 'none'],
        ['Declared', 'cannot be read'],
        ['No longer in the file', 'none'],
      ],
    });
    // It does not ask all the time.
    expect(messages().filter((text) => text === 'applications not applied yet')).toHaveLength(1);
    other.isDown = false;
    await expect.poll(async () => (await replica.readHealth())?.problems, WITHIN).toEqual([]);
    expect(messages().filter((text) => text === 'applications read')).toHaveLength(2);
    // Keys that are no longer in it work no longer.
    expect(replica.clear).toHaveBeenCalledTimes(2);
  });

  test('learns after an outage that another one has applied a file without a revision, too', {
    timeout: 60_000,
  }, async () => {
    await using other = await openOther();
    const path = await createPath();
    await writeFile(path, fileOf('First'));
    await using replica = await open(fileOf('First'), path, other);
    other.isDown = true;
    await expect.poll(() => other.unanswered, WITHIN).toBeGreaterThan(0);
    other.isDown = false;
    await other.fixture.apply(fileOf('Of another replica'));
    const warnings = () => replica.log.parsed.filter(({ level }) => level >= 40).map(({ msg }) => msg);
    const DIFFERENT = 'applications file differs from the one that was applied';
    await expect.poll(warnings, WITHIN).toEqual([DIFFERENT]);
    expect((await replica.readHealth())?.problems).toEqual([`The ${DIFFERENT}.`]);
  });

  test('waits, when it stops, for the file that it is about to apply', { timeout: 60_000 }, async () => {
    await using other = await openOther();
    const [asked, answered] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const path = await createPath();
    await writeFile(path, fileOf('First'));
    const replica = await open(fileOf('First'), path, other);
    const eachWithin = other.eachWithin;
    other.eachWithin = (ms) => {
      asked.resolve();
      const run = eachWithin(ms);
      return async (...statement) => {
        await answered.promise;
        return run(...statement);
      };
    };
    await writeFile(path, fileOf('Second'));
    await asked.promise;
    const hasEnded = vi.fn();
    const ending = replica[Symbol.asyncDispose]().then(hasEnded);
    await new Promise(setImmediate);
    expect(hasEnded).not.toHaveBeenCalled();
    answered.resolve();
    await ending;
  });
});

describe(`${ENTRIES} entries`, () => {
  const SECOND = fileAt(22, 'Second');

  test('are applied while look-ups are answered, and nobody waits for the transaction', async () => {
    await declared.apply(fileAt(21, 'First'));
    const user = await createTestUser(service);
    const [one, other, third] = [tenantOf(0), tenantOf(1), tenantOf(2)];
    const session = await beginSession(service, one, user);
    const [loginIntentId, authToken] = [await createLoginIntent(service, one), await logIn(service, one, user)];
    await using lock = await holdLock(service.database, 'select from usher.declared_files for update');
    let [isApplied, isChanged] = [false, false];
    const applying = declared.apply(SECOND).finally(() => {
      isApplied = true;
    });
    // It has changed every row by then.
    const changed = waitForLockOf(service.database, applying).finally(() => {
      isChanged = true;
    });
    // The process that applies them answers meanwhile.
    let lookUps = 0;
    for (; !isChanged; lookUps++) await admin.getApplication({ applicationId: one.id });
    await changed;
    expect(lookUps).toBeGreaterThan(10);
    const { sessions, auth } = clientsOf(service, one);
    const answers: Readonly<Record<string, unknown>> = {
      name: (await admin.getApplication({ applicationId: one.id })).application?.name,
      listed: (await admin.listApplications({ pageSize: 1 })).applications.map(({ name }) => name),
      keys: (await admin.listApiKeys({ applicationId: one.id })).apiKeys.map(({ name }) => name),
      // For the first time here.
      byKey: (await clientsOf(replica, other).users.listUsers({})).users.length,
      isActive: (await sessions.checkSession({ sessionId: session, maxStalenessMs: 0 })).active,
      renewed: (await sessions.renewSession({ sessionId: session })).session !== undefined,
      exchanged: (await auth.exchangeToken({ authToken })).session !== undefined,
      completed: (await admin.completeLogin({ loginIntentId, userId: user.id })).redirectUrl.startsWith(REDIRECT_URI),
      begun: (await createLoginIntent(replica, third)).length,
      // Where every server has a copy of keys, changes of them wait for each other.
      ...(LAYOUT === 'whole' && {
        emergency: (await admin.createApiKey({ applicationId: one.id, name: 'night' })).apiKeyId.length,
      }),
    };
    expect(isApplied).toBe(false);
    expect(answers).toEqual({
      name: 'First',
      listed: ['First'],
      keys: ['first'],
      byKey: 0,
      isActive: true,
      renewed: true,
      exchanged: true,
      completed: true,
      begun: 36,
      ...(LAYOUT === 'whole' && { emergency: 36 }),
    });
    await lock.release();
    expect(await applying).toBe('new');
    expect((await admin.getApplication({ applicationId: one.id })).application?.name).toBe('Second');
  });

  test('cost a start that has nothing to do one statement, and less CPU than thirty look-ups', async () => {
    const path = join(await createDirectory(), 'applications.json');
    await writeFile(path, SECOND);
    await declared.apply(SECOND);
    const run = vi.spyOn(database, 'run');
    const transact = vi.spyOn(database, 'transact');
    const start = async () => {
      await using _ = await open(SECOND, path);
    };
    const call = { run: database.eachWithin(30_000), now: new Date() };
    const lookUp = async () => {
      for (let count = 0; count < 30; count++) await getApplication(call, { applicationId: tenantOf(count).id });
    };
    await start();
    expect(run).toHaveBeenCalledTimes(1);
    const spent = { start: 0, lookUp: 0 };
    for (let pair = 0; pair < 40; pair++) {
      for (const [name, work] of [
        ['start', start],
        ['lookUp', lookUp],
      ] as const) {
        const before = process.cpuUsage();
        await work();
        const { user, system } = process.cpuUsage(before);
        // The first pairs compile it.
        if (pair >= 10) spent[name] += user + system;
      }
    }
    expect(transact).not.toHaveBeenCalled();
    expect(spent.start).toBeLessThan(spent.lookUp);
  });
});
