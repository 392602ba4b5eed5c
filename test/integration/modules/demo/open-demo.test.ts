/** What the demo is under other settings, and what becomes of it between two starts. One row for each condition. */
import { randomBytes, randomUUID } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import type { Config } from '../../../../src/config/config.ts';
import { RowCipher } from '../../../../src/domain/crypto/aes-gcm.ts';
import { AddressPolicy, LOOPBACK } from '../../../../src/domain/webhooks/address-policy.ts';
import { type Demo, type DemoParts, openDemo } from '../../../../src/modules/demo/demo.ts';
import { createDirectory } from '../../../support/directory.ts';
import { NOW, openDomain } from '../../../support/domain-scene.ts';

const { sql, database } = await openDomain();
const cipher = new RowCipher([randomBytes(32)]);
const LOCAL = 'http://localhost:8080';

interface Start {
  readonly issuer?: string;
  readonly url?: string;
  readonly config?: Partial<Config>;
  readonly networks?: readonly string[];
}

let dataDir: string;
beforeEach(async () => {
  dataDir = await createDirectory();
});

const start = ({ issuer = LOCAL, url = LOCAL, config = {}, networks = LOOPBACK }: Start = {}) =>
  openDemo(
    { dataDir, authPageUrl: undefined, smtp: undefined, loginMethods: ['email'], ...config } as Config,
    {
      ...{ authPageUrl: `${issuer}/login`, cipher, clock: () => NOW, database, url },
      ...{ policy: new AddressPolicy(networks), webhooksPerApplication: 10, sessionMaxAgeSeconds: 43_200 },
      tokens: { issuer },
    } as unknown as DemoParts,
  );

const HERE = 'http://127.0.0.1:8080/demo';
const smtp = { url: 'smtp://mail.test', from: 'usher@example.com' };
const PAGES = 'https://pages.test/login';

test.each<[what: string, start: Start, expected: Partial<Demo>]>([
  [
    'codes that the terminal shows',
    {},
    {
      canSignIn: true,
      homeUrl: HERE,
      redirectUri: `${HERE}/callback`,
      accountUrl: `${LOCAL}/account`,
      methods: ['email'],
    },
  ],
  ['codes that are sent', { config: { smtp } }, { canSignIn: false, homeUrl: HERE, methods: ['email'] }],
  ['no codes', { config: { loginMethods: ['passkey'] } }, { canSignIn: false, methods: ['passkey'] }],
  [
    'login pages elsewhere',
    { config: { authPageUrl: PAGES } },
    { canSignIn: false, accountUrl: undefined, methods: [] },
  ],
  ['a public URL', { issuer: 'https://usher.test/' }, { canSignIn: true, homeUrl: 'https://usher.test/demo' }],
  [
    'a public URL of this machine',
    { issuer: 'https://localhost:8443' },
    { canSignIn: true, homeUrl: 'https://localhost:8443/demo' },
  ],
  // It cannot be registered.
  ['a public URL without TLS', { issuer: 'http://usher.test:9000' }, { canSignIn: true, homeUrl: HERE }],
])('the demo with %s', async (_, given, expected) => {
  expect(await start(given)).toMatchObject(expected);
});

test('a demo that was made without TLS does not lead back to a server with it', async () => {
  await start();
  const url = 'https://localhost:8443';
  expect(await start({ issuer: url, url })).toMatchObject({
    canSignIn: false,
    homeUrl: `${url}/demo`,
    redirectUri: 'http://127.0.0.1/demo/callback',
    cafe: { redirectUri: 'http://127.0.0.1/demo/cafe/callback' },
  });
});

test('the demo has a logo of two themes, and the second application none', async () => {
  const { applicationId, cafe } = await start();
  expect(
    await sql`select theme from application_logos where application_id in (${applicationId}, ${cafe.applicationId}) order by 1`,
  ).toEqual([{ theme: 'dark' }, { theme: 'light' }]);
});

const file = () => join(dataDir, 'demo.json');
const change = async (fields: object) =>
  writeFile(file(), JSON.stringify({ ...JSON.parse(await readFile(file(), 'utf8')), ...fields }));

const KEPT = ['applicationId', 'userId', 'cafe', 'webhookId', 'eventIds'] as const;
type Part = (typeof KEPT)[number];
const ALL: readonly Part[] = KEPT;

describe('at the next start', () => {
  test.each<[what: string, between: (demo: Demo) => Promise<unknown>, fresh: readonly Part[]]>([
    ['everything is kept', async () => {}, []],
    [
      'a deleted application is made anew',
      ({ applicationId: id }) => sql`update applications set deleted_at = now() where id = ${id}`,
      ALL,
    ],
    [
      'so is one whose user is deleted',
      ({ userId: id }) => sql`update users set deleted_at = now() where id = ${id}`,
      ALL,
    ],
    ['so is one of another user', () => change({ userId: randomUUID() }), ALL],
    ['so is one of another database', () => change({ applicationId: randomUUID() }), ALL],
    [
      'a deleted second application is made anew',
      ({ cafe }) => sql`update applications set deleted_at = now() where id = ${cafe.applicationId}`,
      ['cafe'],
    ],
    [
      'so is a deleted event',
      ({ eventIds: [id = ''] }) => sql`update events set deleted_at = now() where id = ${id}`,
      ['eventIds'],
    ],
    ['so is a deleted webhook', ({ webhookId: id }) => sql`delete from webhooks where id = ${id}`, ['webhookId']],
  ])('%s, and stays until the one after', async (_, between, fresh) => {
    const first = await start();
    await between(first);
    const second = await start();
    const third = await start();
    for (const part of KEPT) {
      if (fresh.includes(part)) expect(second[part], part).not.toEqual(first[part]);
      else expect(second[part], part).toEqual(first[part]);
      expect(third[part], part).toEqual(second[part]);
    }
  });
});

describe('the webhook', () => {
  const read = async ({ webhookId }: Demo) =>
    (await sql`select url, event_types, is_active from webhooks where id = ${webhookId}`)[0];
  const own = (url: string) => ({ url: `${url}/demo/hooks`, event_types: ['*'], is_active: true });
  const PLACEHOLDER = { url: 'https://example.com/hooks', event_types: ['webhook.test'], is_active: true };
  const elsewhere = { url: 'https://hooks.test/mine', event_types: ['user.created'], is_active: false };

  test('follows the port, is on again, and stays where a developer has sent it', async () => {
    const demo = await start();
    expect(await read(demo)).toEqual(own(LOCAL));
    await sql`update webhooks set is_active = false where id = ${demo.webhookId}`;
    await start({ url: 'http://localhost:9090' });
    expect(await read(demo)).toEqual(own('http://localhost:9090'));
    await sql`update webhooks set ${sql(elsewhere)} where id = ${demo.webhookId}`;
    await start();
    expect(await read(demo)).toEqual(elsewhere);
  });

  test('leads nowhere while this machine is forbidden', async () => {
    const demo = await start({ networks: [] });
    expect(await read(demo)).toEqual(PLACEHOLDER);
    await start();
    expect(await read(demo)).toEqual(own(LOCAL));
    await start({ networks: [] });
    expect(await read(demo)).toEqual(PLACEHOLDER);
  });
});
