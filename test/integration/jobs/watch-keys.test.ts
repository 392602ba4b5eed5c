/** The files of keys are read again when they change. A file without the key in use is not used. */
import { randomBytes } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { readSettingFile } from '../../../src/config/files.ts';
import { generateAuthSigningKeys, generateOidcSigningKeys } from '../../../src/config/signing-keys.ts';
import { readFullConfig } from '../../../src/modules/modules.ts';
import { cloneDatabase } from '../../support/database.ts';
import { createDirectory } from '../../support/directory.ts';
import { request } from '../../support/http.ts';
import { RecordedLog } from '../../support/recorded-log.ts';
import {
  clientsOf,
  createTenant,
  createTestWebhook,
  TEST_ENV,
  type Tenant,
  type TestService,
} from '../../support/service.ts';

const POLL = { timeout: 60_000 };
const LONG = { timeout: 120_000 };

const stack = new AsyncDisposableStack();
const log = new RecordedLog();
let service: TestService;
let tenant: Tenant;
let database: Awaited<ReturnType<typeof cloneDatabase>>;
const files = { AUTH_SIGNING_KEYS_FILE: '', OIDC_SIGNING_KEYS_FILE: '', ENCRYPTION_KEY_FILE: '' };
const [OLD, NEW] = [randomBytes(32), randomBytes(32)];
const jwks = { auth: generateAuthSigningKeys(), oidc: generateOidcSigningKeys() };

beforeAll(async () => {
  const directory = await createDirectory();
  for (const name of Object.keys(files) as (keyof typeof files)[]) files[name] = join(directory, name);
  await writeFile(files.AUTH_SIGNING_KEYS_FILE, jwks.auth);
  await writeFile(files.OIDC_SIGNING_KEYS_FILE, jwks.oidc);
  await writeFile(files.ENCRYPTION_KEY_FILE, OLD.toString('base64'));
  database = stack.use(await cloneDatabase());
  const env = { ...TEST_ENV, ...files, DATABASE_URL: database.url, WEBHOOK_DELIVERY: 'false' };
  service = stack.use(await log.start({ database, like: readFullConfig(env, readSettingFile) }));
  tenant = await createTenant(service);
});
afterAll(() => stack.disposeAsync());

const messages = () => log.parsed.map(({ msg }) => String(msg));

function mergeSets(...sets: readonly string[]): string {
  return JSON.stringify({ keys: sets.flatMap((set) => JSON.parse(set).keys) });
}

const idsOf = (set: string): string[] => JSON.parse(set).keys.map(({ kid }: { kid: string }) => kid);

test.each([
  ['AUTH_SIGNING_KEYS_FILE', 'auth token', '/.well-known/jwks.json', jwks.auth, generateAuthSigningKeys()],
  ['OIDC_SIGNING_KEYS_FILE', 'OpenID Connect', '/oidc/jwks', jwks.oidc, generateOidcSigningKeys()],
] as const)('%s: keys are published once they are in the file', LONG, async (file, name, path, old, next) => {
  const readIds = async () => idsOf((await request(service.url, { path })).body);
  expect(await readIds()).toEqual(idsOf(old));
  await writeFile(files[file], next);
  await expect.poll(messages, POLL).toContain(`${name} keys not read again`);
  const failure = log.parsed.find(({ msg }) => msg === `${name} keys not read again`);
  expect(failure).toMatchObject({
    err: { message: expect.stringContaining(`The key ${idsOf(old)[0]} has been in use`) },
  });
  expect(await readIds()).toEqual(idsOf(old));
  for (const text of [mergeSets(old, next), mergeSets(next, old), next]) {
    await writeFile(files[file], text);
    await expect.poll(readIds, POLL).toEqual(idsOf(text));
  }
  expect(messages().filter((message) => message === `${name} keys read again`)).toHaveLength(3);
});

test('ENCRYPTION_KEY_FILE: the first key encrypts, and the others are retired', LONG, async () => {
  const webhook = await createTestWebhook(service, tenant);
  const readKeyIds = async () => {
    const rows = await database.sql`select distinct encode(substr(signing_key, 1, 4), 'hex') as id from webhooks`;
    return rows.map(({ id }) => id);
  };
  const [before] = await readKeyIds();
  const write = (...keys: Buffer[]) =>
    writeFile(files.ENCRYPTION_KEY_FILE, keys.map((key) => key.toString('base64')).join('\n'));
  const count = (message: string) => messages().filter((each) => each === message).length;
  await write(NEW);
  await expect.poll(messages, POLL).toContain('encryption keys not read again');
  await write(OLD, NEW);
  await expect.poll(() => count('encryption keys read again'), POLL).toBe(1);
  expect(await readKeyIds()).toEqual([before]);
  await write(NEW, OLD);
  await expect.poll(messages, POLL).toContain('encryption key is being retired');
  await expect.poll(readKeyIds, POLL).not.toContain(before);
  const { webhookId, signingKey } = webhook;
  const { webhook: found } = await clientsOf(service, tenant).webhooks.getWebhook({ webhookId });
  expect(found?.signingKey).toBe(signingKey);
  await write(NEW);
  await expect.poll(() => count('encryption keys read again'), POLL).toBe(3);
  expect((await clientsOf(service, tenant).webhooks.getWebhook({ webhookId })).webhook?.signingKey).toBe(signingKey);
});
