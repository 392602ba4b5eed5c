/** What a file declares, only the file changes: every RPC that changes it, declared and not. */
import { Code } from '@connectrpc/connect';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { GRAFANA, newDeclaredKey, openDeclaredFixture } from '../../support/declared-fixture.ts';
import { readErrorDetails } from '../../support/error-details.ts';
import { png } from '../../support/images.ts';
import { adminClient, startTestService } from '../../support/service.ts';

const service = await startTestService();
const declared = openDeclaredFixture(service.database);
afterAll(async () => {
  await declared[Symbol.asyncDispose]();
  await service.close();
});
const admin = adminClient(service);
const { key } = newDeclaredKey('first');
const FILE = JSON.stringify({
  groups: [{ name: 'editors' }],
  applications: [{ ...GRAFANA, keys: [key], access: [{ group: 'editors', inClaim: true }] }],
});

interface Ids {
  readonly applicationId: string;
  readonly apiKeyId: string;
  readonly groupId: string;
}

const CALLS: Readonly<Record<string, (ids: Ids) => Promise<unknown>>> = {
  UpdateApplication: ({ applicationId }) => admin.updateApplication({ applicationId, askName: true }),
  SetApplicationLogo: ({ applicationId }) =>
    admin.setApplicationLogo({ applicationId, theme: 'light', image: new Uint8Array(png(2, 2)) }),
  'SetApplicationLogo without an image': ({ applicationId }) =>
    admin.setApplicationLogo({ applicationId, theme: 'light' }),
  SetGroupAccess: ({ applicationId, groupId }) => admin.setGroupAccess({ applicationId, groupId, allowsAccess: true }),
  RotateApiKey: ({ apiKeyId }) => admin.rotateApiKey({ apiKeyId }),
  RevokeApiKey: ({ apiKeyId }) => admin.revokeApiKey({ apiKeyId }),
  UpdateGroup: ({ groupId }) => admin.updateGroup({ groupId, displayName: 'Other' }),
  DeleteGroup: ({ groupId }) => admin.deleteGroup({ groupId }),
  DeleteApplication: ({ applicationId }) => admin.deleteApplication({ applicationId }),
};

async function readAll() {
  const { sql } = service.database;
  const tables = ['applications', 'application_groups', 'application_logos', 'groups', 'audit_events'];
  return Promise.all(
    tables.map(async (table) => (await sql`select x::text from ${sql(table)} x order by 1`).map(({ x }) => x)),
  );
}

async function findIds(): Promise<Ids> {
  const { applications } = await admin.listApplications({});
  const applicationId = applications.find(({ clientId }) => clientId === 'grafana')?.id ?? '';
  const { apiKeys } = await admin.listApiKeys({ applicationId });
  const { groups } = await admin.listGroups({});
  return { applicationId, apiKeyId: apiKeys[0]?.apiKeyId ?? '', groupId: groups[0]?.groupId ?? '' };
}

beforeAll(async () => void (await declared.apply(FILE)));

describe('of what is declared', () => {
  test.each(Object.entries(CALLS))('%s is refused, and changes nothing', async (_, call) => {
    const ids = await findIds();
    const before = await readAll();
    const error = await call(ids).then(
      () => undefined,
      (reason) => reason,
    );
    expect(error?.code).toBe(Code.FailedPrecondition);
    expect(readErrorDetails(error).info.reason).toBe('MANAGED_BY_FILE');
    expect(await readAll()).toEqual(before);
  });

  test('the resources say so, and a key for an emergency can be made, rotated and revoked', async () => {
    const { applicationId, groupId } = await findIds();
    expect((await admin.getApplication({ applicationId })).application?.managedByFile).toBe(true);
    expect((await admin.getGroup({ groupId })).group?.managedByFile).toBe(true);
    const { apiKeyId } = await admin.createApiKey({ applicationId, name: 'night' });
    const { apiKeys } = await admin.listApiKeys({ applicationId });
    expect(Object.fromEntries(apiKeys.map(({ name, managedByFile }) => [name, managedByFile]))).toEqual({
      first: true,
      night: false,
    });
    const rotated = await admin.rotateApiKey({ apiKeyId });
    await admin.revokeApiKey({ apiKeyId: rotated.apiKeyId });
  });

  test('an ID that is unknown is not found', async () => {
    const unknown = '00000000-0000-4000-8000-0000000000ff';
    const ids = { applicationId: unknown, apiKeyId: unknown, groupId: unknown };
    for (const [name, call] of Object.entries(CALLS)) {
      const error = await call(ids).then(
        () => undefined,
        (reason) => reason,
      );
      expect([name, error?.code]).toEqual([name, Code.NotFound]);
    }
  });
});

describe('once the file no longer names it', () => {
  test.each(Object.entries(CALLS))('%s changes it', async (_, call) => {
    await declared.apply(JSON.stringify({ applications: [], groups: [], revision: undefined }));
    const ids = await findIds();
    const { apiKeys } = await admin.listApiKeys({ applicationId: ids.applicationId });
    const usable = apiKeys.filter(({ revokedAt, replacedBy }) => !revokedAt && !replacedBy);
    expect(usable.every(({ managedByFile }) => !managedByFile)).toBe(true);
    const before = await readAll();
    await call({ ...ids, apiKeyId: usable[0]?.apiKeyId ?? ids.apiKeyId });
    expect((await readAll()).at(-1)).not.toEqual(before.at(-1));
  });
});
