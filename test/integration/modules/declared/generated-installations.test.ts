/**
 * An export of any installation is a fixed point: its plan is empty, applied it changes nothing but who writes, and an
 * empty database that applies it exports the same bytes.
 */
import fc from 'fast-check';
import { afterAll, expect, test } from 'vitest';
import { applicationRules } from '../../../../src/domain/applications/create-application.ts';
import type { Rule } from '../../../../src/domain/core/rule.ts';
import { groupRules } from '../../../../src/domain/groups/group.ts';
import { cloneDatabase, type TestDatabase } from '../../../support/database.ts';
import { newDeclaredKey, openDeclaredFixture } from '../../../support/declared-fixture.ts';
import { TEXTS } from '../../../support/hostile-texts.ts';
import { jpeg, png, webp } from '../../../support/images.ts';
import { adminClient, startTestService } from '../../../support/service.ts';

const ROUNDS = 5;

const service = await startTestService();
const declared = openDeclaredFixture(service.database);
afterAll(async () => {
  await declared[Symbol.asyncDispose]();
  await service.close();
});
const admin = adminClient(service);
const { sql } = service.database;

/** Returns what the rule accepts. */
function accepted<Value>(rule: Rule<unknown>, values: fc.Arbitrary<Value>): fc.Arbitrary<Value> {
  return values.filter((value) => {
    try {
      rule(value);
      return true;
    } catch {
      return false;
    }
  });
}

const ODD = [...TEXTS, 'a'.repeat(255), '"', '\\', "{'", '}{', '\\"{', '\u2028', '", "name": "', ' space ', '\ufb01'];
const text = (rule: Rule<unknown>) =>
  accepted(rule, fc.oneof(fc.constantFrom(...ODD), fc.string({ unit: 'binary', minLength: 1, maxLength: 40 })));
const some = <Value>(value: fc.Arbitrary<Value>) => fc.array(value, { minLength: 1, maxLength: 3 });
const URIS = ['https://a.test/?"=%22&b', 'http://127.0.0.1/a', 'http://[::1]:1/', 'https://xn--e1afmkfd.test/~%00'];
const uri = fc.constantFrom(...URIS, `https://a.test/${'a'.repeat(2_033)}`, 'HTTPS://A.test/{}');
const flag = fc.boolean();
const { termsUri, supportUri, resourceScopes, attributeClaims } = applicationRules;
const scope = fc.record({
  name: fc.constantFrom('read', '!#]', 'a'.repeat(100)),
  description: fc.constantFrom(...ODD),
});

/** Values of every field. Those that come from a list are odd, and those that differ by case are stored in another. */
const FIELDS: { readonly [Name in keyof typeof applicationRules]: fc.Arbitrary<unknown> } = {
  name: text(applicationRules.name),
  redirectUris: accepted(applicationRules.redirectUris, some(fc.oneof(uri, fc.constant('com.app.test:/"')))),
  allowSignUp: flag,
  allowInvitations: flag,
  askName: flag,
  singleSignOn: flag,
  restrictAccess: flag,
  messageFeed: flag,
  openIdConnect: flag,
  requirePkce: flag,
  publicClient: flag,
  deviceLogin: flag,
  allowMetadataClients: flag,
  sessionMaxAgeSeconds: fc.constantFrom(900, 31_536_000),
  signUpEmailDomains: some(fc.constantFrom('Example.COM', 'bücher.example', 'a.test')),
  attributeClaims: accepted(attributeClaims, some(fc.constantFrom('plan', 'plan_2', 'z'))),
  requiredAssurance: fc.constantFrom('ANY', 'TWO_FACTORS', 'PHISHING_RESISTANT'),
  sessionIdleSeconds: fc.constantFrom(900, 901, 7_776_000),
  accentColor: fc.constantFrom('#ABCDEF', '#000000'),
  termsUri: accepted(termsUri, uri),
  privacyUri: accepted(termsUri, uri),
  supportUri: accepted(supportUri, fc.oneof(uri, fc.constant("mailto:o'neil{}@a.test"))),
  initiateLoginUri: accepted(applicationRules.initiateLoginUri, uri),
  loginMethods: some(fc.constantFrom('email', 'passkey', 'wallet')),
  postLogoutRedirectUris: accepted(applicationRules.postLogoutRedirectUris, some(uri)),
  backchannelLogoutUri: accepted(applicationRules.backchannelLogoutUri, uri),
  resourceUri: fc.constantFrom('https://api.test/{}', 'http://localhost/?"'),
  resourceScopes: accepted(resourceScopes, some(scope)),
  machineClientIds: some(fc.constantFrom('batch', `client_${'0f'.repeat(16)}`)),
};
const { name, redirectUris, ...others } = FIELDS;
const application = fc.tuple(
  fc.record({ name, redirectUris }),
  fc.record(others, { requiredKeys: [] }) as fc.Arbitrary<Record<string, unknown>>,
);
const key = fc.record({
  name: fc.oneof(
    fc.constantFrom('a', 'a-2', 'key-1', 'key-2', undefined, 'é'.repeat(255)),
    text(applicationRules.name),
  ),
  use: fc.constantFrom('API', 'CLIENT_SECRET'),
  state: fc.constantFrom('usable', 'usable', 'usable', 'unnamed', 'expires', 'expired', 'revoked', 'rotated'),
});
const image = fc.constantFrom(png(2, 2), png(4, 4, { bytes: 40 * 1_024 }), jpeg(3, 3), webp('VP8L', 5, 5), undefined);
const group = fc.record({
  name: fc.stringMatching(/^[a-z0-9][a-z0-9._-]{0,20}$/),
  displayName: fc.option(text(groupRules.displayName), { nil: undefined }),
  isDeleted: fc.integer({ min: 0, max: 3 }).map((number) => number === 0),
});
const fate = fc.constantFrom('kept', 'kept', 'absent', 'released', 'deleted');
const round = fc.record({
  applications: fc.array(
    fc.record({ application, keys: fc.array(key, { maxLength: 14 }), light: image, dark: image }),
    {
      minLength: 1,
      maxLength: 4,
    },
  ),
  groups: fc.uniqueArray(group, { selector: ({ name }) => name, maxLength: 4 }),
  access: fc.array(fc.record({ allowsAccess: flag, inClaim: flag }), { minLength: 4, maxLength: 4 }),
  fates: fc.infiniteStream(fate),
});

type Round = typeof round extends fc.Arbitrary<infer Value> ? Value : never;
type Entry = Record<string, unknown> & { name?: string; access?: { group: string }[]; keys?: { name: string }[] };

let count = 0;

async function addKey(
  applicationId: string,
  { name, use, state }: { name?: string | undefined; use: string; state: string },
) {
  const expiresAt = { seconds: BigInt(Date.UTC(2099, 0) / 1_000), nanos: 123_456_789 };
  const { apiKeyId } = await admin.createApiKey({
    applicationId,
    use,
    ...(name !== undefined && { name }),
    ...(state === 'expires' && { expiresAt }),
  });
  if (state === 'unnamed') await sql`update api_keys set name = null where id = ${apiKeyId}`;
  if (state === 'expired') await sql`update api_keys set expires_at = now() where id = ${apiKeyId}`;
  if (state === 'revoked') await admin.revokeApiKey({ apiKeyId });
  if (state === 'rotated') await admin.rotateApiKey({ apiKeyId });
}

/** Adds to the installation what operators have made by RPC. */
async function build({ applications, groups, access }: Round): Promise<void> {
  const groupIds: string[] = [];
  for (const { name, displayName, isDeleted } of groups) {
    const { group } = await admin.createGroup({ name: `${name}-${count++}`, ...(displayName && { displayName }) });
    const groupId = group?.groupId ?? '';
    groupIds.push(groupId);
    if (isDeleted) await admin.deleteGroup({ groupId });
  }
  for (const { application, keys, light, dark } of applications) {
    const [{ name, redirectUris }, fields] = application;
    const resourceUri = typeof fields.resourceUri === 'string' && `${fields.resourceUri}${count++}`;
    const request = { ...fields, ...(resourceUri && { resourceUri }), name, redirectUris };
    const created = await admin.createApplication(request as Parameters<typeof admin.createApplication>[0]);
    const applicationId = created.application?.id ?? '';
    for (const each of keys) await addKey(applicationId, each);
    for (const [theme, image] of [
      ['light', light],
      ['dark', dark],
    ] as const)
      if (image) await admin.setApplicationLogo({ applicationId, theme, image: new Uint8Array(image) });
    for (const [index, meaning] of access.entries()) {
      const groupId = groupIds[index];
      if (groupId === undefined || groups[index]?.isDeleted) continue;
      await admin.setGroupAccess({ applicationId, groupId, ...meaning });
    }
  }
}

/** Returns the file with a new application and group, and without what its stream of fates leaves out. */
function edit(exported: string, fates: Iterator<string>): string {
  const { groups, applications } = JSON.parse(exported) as Record<'groups' | 'applications', Entry[]>;
  const withFate = (entry: Entry): Entry[] => {
    const fate = fates.next().value;
    return fate === 'absent' ? [] : [fate === 'kept' ? entry : { ...entry, [fate]: true }];
  };
  const [ofGroups, ofApplications] = [groups.flatMap(withFate), applications.flatMap(withFate)];
  const isDeleted = new Set(ofGroups.filter(({ deleted }) => deleted).map(({ name }) => name));
  const present = ofApplications.map(({ access = [], ...entry }) => ({
    ...entry,
    access: access.filter(({ group }) => !isDeleted.has(group)),
  }));
  const clientId = `declared-${count++}`;
  const keys = [newDeclaredKey('a').key, { ...newDeclaredKey('old').key, expiresAt: '2001-01-01T00:00:00Z' }];
  const added = {
    clientId,
    name: clientId,
    redirectUris: ['https://a.test/'],
    keys,
    access: [{ group: clientId, inClaim: true }],
  };
  return JSON.stringify({ groups: [...ofGroups, { name: clientId }], applications: [...present, added] });
}

/** Returns what applications get beside their rows. */
async function readEffects({ sql }: Pick<TestDatabase, 'sql'>) {
  return Promise.all([
    sql`select a.client_id, w.url, w.event_types, w.is_active from webhooks w join applications a on a.id = w.application_id
      where a.deleted_at is null order by 1, 2`,
    sql`select a.client_id, f.is_active from message_feeds f join applications a on a.id = f.application_id
      where a.deleted_at is null and f.is_active order by 1`,
  ]);
}

test('every field has generated values', () => {
  expect(Object.keys(FIELDS).sort()).toEqual(Object.keys(applicationRules).sort());
});

test(`${ROUNDS} generated installations, each grown from the last`, { timeout: 120_000 }, async () => {
  for (const each of fc.sample(round, { seed: 64, numRuns: ROUNDS })) {
    await build(each);
    const cutoffs = await sql`select * from session_cutoffs order by 1, 2`;
    const revoked = await sql`select id from api_keys where revoked_at is not null order by 1`;
    const exported = await declared.export();
    expect(await declared.plan(exported)).toBe('');
    await using empty = await cloneDatabase();
    await using young = openDeclaredFixture(empty);
    await young.apply(exported);
    expect(await young.export()).toBe(exported);
    expect(await young.plan(exported)).toBe('');
    await declared.apply(exported);
    expect(await declared.export()).toBe(exported);
    expect(await declared.plan(exported)).toBe('');
    expect(await sql`select * from session_cutoffs order by 1, 2`).toEqual(cutoffs);
    expect(await sql`select id from api_keys where revoked_at is not null order by 1`).toEqual(revoked);
    expect(await readEffects(empty)).toEqual(await readEffects(service.database));
    // The next one has entries of every fate, and keys beside those of a file.
    const edited = edit(exported, each.fates);
    await declared.apply(edited);
    expect(await declared.plan(await declared.export())).toBe('');
    for (const { id } of await sql`select id from applications where declared_by_file and deleted_at is null`)
      for (const name of ['a', 'key-1']) await admin.createApiKey({ applicationId: id, name });
    expect(await declared.plan(await declared.export())).toBe('');
    // A key of the file gets the name of an older one.
    const { groups, applications } = JSON.parse(edited);
    applications.at(-1).keys.push(newDeclaredKey('key-1').key);
    await declared.apply(JSON.stringify({ groups, applications }));
    expect(await declared.plan(await declared.export())).toBe('');
  }
});
