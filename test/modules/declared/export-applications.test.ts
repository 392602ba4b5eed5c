/** An export is a fixed point: its plan is empty, and an empty database that applies it exports the same. */
import { expect, test } from 'vitest';
import { cloneDatabase } from '../../support/database.ts';
import { openDeclaredFixture } from '../../support/declared-fixture.ts';
import { png } from '../../support/images.ts';
import { adminClient, createTenant, startTestService } from '../../support/service.ts';

test('an installation is exported, adopted, and made anew', async () => {
  await using service = await startTestService();
  await using old = openDeclaredFixture(service.database);
  const admin = adminClient(service);
  const { sql } = service.database;
  const tenants = [await createTenant(service), await createTenant(service, { name: 'Full', ...EVERYTHING })];
  const [plain = '', full = ''] = tenants.map(({ id }) => id);
  await createTenant(service, { name: 'Gone' }).then(({ id }) => admin.deleteApplication({ applicationId: id }));
  for (const name of ['twice', 'twice', 'twice-2', 'revoked', 'expired'])
    await admin.createApiKey({ applicationId: full, name, use: 'CLIENT_SECRET', expiresAt: FAR });
  await sql`update api_keys set name = null where application_id = ${plain}`;
  await sql`update api_keys set revoked_at = now() where name = 'revoked'`;
  await sql`update api_keys set expires_at = now() - interval '1 hour' where name = 'expired'`;
  for (let count = 0; count < 12; count++) await admin.createApiKey({ applicationId: plain, name: `many-${count}` });
  const { group } = await admin.createGroup({ name: 'editors', displayName: 'Editors' });
  await admin.createGroup({ name: 'nobody' });
  await admin.setGroupAccess({ groupId: group?.groupId ?? '', applicationId: full, allowsAccess: true, inClaim: true });
  for (const [theme, width] of [
    ['light', 2],
    ['dark', 3],
  ] as const)
    await admin.setApplicationLogo({ applicationId: full, theme, image: new Uint8Array(png(width, 2)) });

  const cutoffs = await sql`select from session_cutoffs`;
  const exported = await old.export();
  expect(exported).not.toContain('Gone');
  expect(exported).not.toMatch(/usher-|usk_/);
  expect(await old.plan(exported)).toBe('');
  const { applications } = JSON.parse(exported);
  const keysOf = (id: string | undefined) =>
    applications.find((each: { id: string }) => each.id === id).keys.map(({ name }: { name: string }) => name);
  expect(keysOf(full)).toEqual([expect.stringContaining('Full '), 'twice', 'twice-2', 'twice-3']);
  expect(keysOf(plain)).toHaveLength(10);

  await old.apply(exported);
  expect(await old.export()).toBe(exported);
  expect(await old.plan(exported)).toBe('');
  // No session ends, and no key.
  expect(await sql`select from session_cutoffs`).toEqual(cutoffs);
  expect(await sql`select from api_keys where revoked_at is not null and name <> 'revoked'`).toEqual([]);

  await using empty = await cloneDatabase();
  await using young = openDeclaredFixture(empty);
  await young.apply(exported);
  expect(await young.export()).toBe(exported);
  expect(await young.plan(exported)).toBe('');
});

test('an empty database exports an empty file, and one with a revision keeps it', async () => {
  await using database = await cloneDatabase();
  await using declared = openDeclaredFixture(database);
  expect(JSON.parse(await declared.export())).toEqual({ groups: [], applications: [] });
  await declared.apply('{"revision":7}');
  expect(JSON.parse(await declared.export())).toEqual({ revision: 7, groups: [], applications: [] });
});

const FAR = { seconds: BigInt(Date.UTC(2099, 0) / 1_000), nanos: 0 };

const EVERYTHING = {
  allowSignUp: true,
  restrictAccess: true,
  requirePkce: false,
  requiredAssurance: 'PHISHING_RESISTANT',
  sessionMaxAgeSeconds: 86_400,
  resourceUri: 'https://api.test/',
  resourceScopes: [{ name: 'read', description: 'Read everything' }],
  backchannelLogoutUri: 'https://full.test/out',
  loginMethods: ['email', 'passkey'],
  messageFeed: true,
};
