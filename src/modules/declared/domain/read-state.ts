/** Reads what the database has of the applications and groups that a file may change. */
import { sql } from 'drizzle-orm';
import type { Run } from '../../../database/pool/database.ts';
import { apiKeys } from '../../../database/schema/api-key-schema.ts';
import { applicationGroups, groups } from '../../../database/schema/group-schema.ts';
import { applicationLogos } from '../../../database/schema/login-schema.ts';
import { declaredFiles } from '../../../database/schema/operations-schema.ts';
import { applications } from '../../../database/schema/schema.ts';
import { columnsOf, p, type RowOfType, statement, t } from '../../../database/sql/template.ts';
import { applicationColumns } from '../../../domain/applications/application.ts';
import { ownApplicationIds } from '../../../domain/core/own-applications.ts';
import { type Group, groupColumns } from '../../../domain/groups/group.ts';
import { type ApplicationsFile, toResourceKeys } from '../parse-applications-file.ts';

const APPLICATION = { application: applicationColumns, isDeleted: t.boolean };
const KEY = {
  applicationId: apiKeys.applicationId,
  apiKeyId: apiKeys.id,
  name: apiKeys.name,
  /** In hex. */
  sha256: t.text,
  use: t.text,
  expiresAt: apiKeys.expiresAt,
  declaredByFile: apiKeys.declaredByFile,
};
const ACCESS = {
  applicationId: applicationGroups.applicationId,
  group: groups.name,
  groupId: groups.id,
  allowsAccess: applicationGroups.allowsAccess,
  inClaim: applicationGroups.inClaim,
};
const { applicationId, theme, mediaType, image } = applicationLogos;
const LOGO = { applicationId, theme, mediaType, image };
const { digest, revision } = declaredFiles;
const APPLIED = { digest, revision };

export type StoredApplication = RowOfType<typeof APPLICATION>;
export type StoredKey = RowOfType<typeof KEY>;
type StoredAccess = RowOfType<typeof ACCESS>;
type StoredLogo = RowOfType<typeof LOGO>;
/** The file that was applied last. */
export type AppliedFile = RowOfType<typeof APPLIED>;

export interface State {
  readonly applications: readonly StoredApplication[];
  /** Those that are not revoked, in the order of creation. */
  readonly keys: ReadonlyMap<string, readonly StoredKey[]>;
  readonly access: ReadonlyMap<string, readonly StoredAccess[]>;
  /** All groups, by name. */
  readonly groups: ReadonlyMap<string, Group>;
  /** The IDs of the applications that have the resources and keys of the file. */
  readonly resourceOwners: ReadonlyMap<string, string>;
  readonly keyOwners: ReadonlyMap<string, string>;
}

/** Reads what the file names, and what earlier files have named. */
export async function readState(run: Run, file: Pick<ApplicationsFile, 'applications'>): Promise<State> {
  const clientIds = file.applications.map(({ clientId }) => clientId);
  const ids = file.applications.flatMap(({ id }) => id ?? []);
  const found = await run(selectNamed, { clientIds, ids });
  const parts = await readParts(run, found);
  const digests = file.applications.flatMap(({ keys }) => keys.map(({ sha256 }) => sha256));
  const uris = file.applications.flatMap(({ fields }) => toResourceKeys(fields.resourceUri));
  const keyOwners = await run(selectKeyOwners, { digests });
  const resourceOwners = await run(selectResourceOwners, { uris });
  return {
    applications: found,
    ...parts,
    keyOwners: new Map(keyOwners.map(({ sha256, applicationId }) => [sha256, applicationId])),
    resourceOwners: new Map(resourceOwners.map(({ uri, id }) => [uri, id])),
  };
}

/** Reads everything that a file can declare. */
export async function readAll(run: Run) {
  const found = await run(selectEvery, {});
  const ids = found.map(({ application }) => application.id);
  return { applications: found, ...(await readParts(run, found)), logos: groupById(await run(selectLogos, { ids })) };
}

export async function readAppliedFile(run: Run): Promise<AppliedFile | undefined> {
  return (await run(selectAppliedFile, {}))[0];
}

async function readParts(run: Run, found: readonly StoredApplication[]) {
  const ids = found.map(({ application }) => application.id);
  const keys = groupById<StoredKey>(await run(selectKeys, { ids }));
  const access = groupById<StoredAccess>(await run(selectAccess, { ids }));
  const all = await run(selectGroups, {});
  return { keys, access, groups: new Map(all.map((group) => [group.name, group])) };
}

function groupById<Row extends { readonly applicationId: string }>(rows: readonly Row[]): ReadonlyMap<string, Row[]> {
  return Map.groupBy(rows, (row) => row.applicationId);
}

const selectNamed = statement('select_named_applications', APPLICATION)`
  select ${columnsOf(applicationColumns)}, deleted_at is not null as is_deleted from applications
  where client_id = any(${p.texts('clientIds')}) or id = any(${p.uuids('ids')})
    or declared_by_file is not null and deleted_at is null`;

const selectEvery = statement('select_declarable_applications', APPLICATION)`
  select ${columnsOf(applicationColumns)}, false as is_deleted from applications
  where deleted_at is null and id not in ${ownApplicationIds} order by client_id collate "C"`;

const ofIds = sql`application_id = any(${p.uuids('ids')})`;

const selectKeys = statement('select_keys_of_applications', KEY)`
  select application_id, id as api_key_id, name, encode(digest, 'hex') as sha256, use, expires_at, declared_by_file
  from api_keys where ${ofIds} and revoked_at is null order by created_at, id`;

const selectAccess = statement('select_access_of_applications', ACCESS)`
  select x.application_id, g.name as group, g.id as group_id, x.allows_access, x.in_claim
  from application_groups x join groups g on g.id = x.group_id and g.deleted_at is null
  where x.${ofIds} order by g.name collate "C"`;

const selectGroups = statement('select_declarable_groups', groupColumns)`
  select ${columnsOf(groupColumns)} from groups where deleted_at is null order by name collate "C"`;

const selectLogos = statement('select_logos_of_applications', LOGO)`
  select application_id, theme, media_type, image from application_logos where ${ofIds}`;

const selectKeyOwners = statement('select_owners_of_digests', { sha256: t.text, applicationId: apiKeys.applicationId })`
  select encode(digest, 'hex') as sha256, application_id from api_keys
  where digest = any(array(select decode(hex, 'hex') from unnest(${p.texts('digests')}) as hex)) and revoked_at is null`;

const selectResourceOwners = statement('select_owners_of_resources', { uri: t.text, id: applications.id })`
  select rtrim(resource_uri, '/') as uri, id from applications
  where deleted_at is null and rtrim(resource_uri, '/') = any(${p.texts('uris')})`;

const selectAppliedFile = statement('select_declared_file', APPLIED)`select ${columnsOf(APPLIED)} from declared_files`;

export type Logos = readonly StoredLogo[];
