/** `GET /admin/users.jsonl`: all users that are not deleted, in the format that an import takes, oldest first. */
import { type SQL, sql } from 'drizzle-orm';
import type { Database } from '../../database/pool/database.ts';
import type { Attributes } from '../../database/schema/column-types.ts';
import { users } from '../../database/schema/schema.ts';
import { nullable, p, type RowOfType, statement, t } from '../../database/sql/template.ts';
import { invalidField } from '../../domain/core/errors.ts';
import type { AdminKeys } from '../../domain/operators/admin-keys.ts';
import type { HttpRoute } from '../../http/route-table.ts';
import { type CallLog, callRoute } from '../calls.ts';
import { requireRight } from '../credentials.ts';
import { type Exporter, JSON_LINES } from './exporter.ts';

export const USERS_PATH = '/admin/users.jsonl';

const PAGE_SIZE = 100;

const ROW = {
  id: users.id,
  externalId: users.externalId,
  email: users.email,
  emailVerified: t.boolean,
  name: users.name,
  profileImage: users.profileImage,
  createdAt: users.createdAt,
  isActive: t.boolean,
  walletAddress: users.walletAddress,
  attributes: nullable(t.jsonb<Attributes>()),
  groups: t.json<string[]>(),
  applications: t.json<string[]>(),
  identities: t.json<{ provider: string; subject: string }[]>(),
  passkeys: t.json<Record<string, unknown>[]>(),
  hasSecondFactor: t.boolean,
};

interface ExportParts extends CallLog {
  readonly adminKeys: AdminKeys;
  readonly database: Database;
  readonly exporter: Exporter;
}

/** Serves the export to admin keys with the right `all`: it holds everybody. */
export function createUserExport(parts: ExportParts): HttpRoute {
  const { database, exporter, requestTimeoutMs } = parts;
  return callRoute(parts, 'GET', USERS_PATH, async (call, context) => {
    requireRight(parts, context, []);
    call.outcome = { code: 'ok', isAuthenticated: true };
    const [unknown] = new URLSearchParams(context.query).keys();
    if (unknown !== undefined) throw invalidField(unknown.slice(0, 64), 'is not a field of this request');
    const readPage = async (pageToken: string) => {
      const run = database.within(performance.now() + requestTimeoutMs);
      const rows = await run(selectUsers, { afterId: pageToken === '' ? FIRST_ID : pageToken, limit: PAGE_SIZE });
      const nextPageToken = rows.length < PAGE_SIZE ? '' : (rows.at(-1)?.id ?? '');
      return { rows, nextPageToken };
    };
    const file = { filename: 'users.jsonl', type: JSON_LINES, head: () => '', toLine, readPage };
    await exporter.send(context, file);
  });
}

const FIRST_ID = '00000000-0000-0000-0000-000000000000';

/** Leaves out what the user does not have. */
function toLine({ createdAt, ...row }: RowOfType<typeof ROW>): string {
  const { id, externalId, email, emailVerified, name, profileImage, isActive, walletAddress, attributes, ...others } =
    row;
  const { hasSecondFactor, ...lists } = others;
  const line = {
    id,
    ...(externalId !== null && { externalId }),
    email,
    emailVerified,
    ...(name !== null && { name }),
    ...(profileImage !== null && { profileImage }),
    createdAt: createdAt.toISOString(),
    isActive,
    walletAddress,
    ...(attributes !== null && { attributes }),
    ...lists,
    ...(hasSecondFactor && { hasSecondFactor }),
  };
  return `${JSON.stringify(line)}\n`;
}

/** Postgres breaks lines of base64. */
const toBase64Url = (bytes: SQL) =>
  sql`translate(rtrim(replace(encode(${bytes}, 'base64'), chr(10), ''), '='), '+/', '-_')`;

/**
 * Ordered by ID, so that users who come meanwhile move no page. What is distributed is read for the whole page at once,
 * because a subquery on it may not refer to a row.
 */
const selectUsers = statement('select_users_to_export', ROW)`
  with page as (
    select id, external_id, email, email_verified_at is not null as email_verified, name, profile_image, created_at,
      deactivated_at is null as is_active, wallet_address, attributes, has_second_factor
    from users where deleted_at is null and id > ${p.uuid('afterId')} order by id limit ${p.integer('limit')}
  ), added as (
    select user_id, json_agg(application_id order by application_id) as applications from added_users
    where user_id = any(array(select id from page)) group by user_id
  ), keyed as (
    select user_id, json_agg(json_build_object('credentialId', ${toBase64Url(sql`credential_id`)},
      'publicKey', ${toBase64Url(sql`public_key`)}, 'rpId', rp_id, 'signCount', sign_count, 'transports', transports,
      'name', name, 'aaguid', aaguid, 'backupEligible', is_backup_eligible, 'backedUp', is_backed_up,
      'userVerified', is_user_verified) order by credential_id) as passkeys
    from passkeys where user_id = any(array(select id from page)) group by user_id
  )
  select u.*,
    (select coalesce(json_agg(g.name order by g.name), '[]') from group_members m join groups g on g.id = m.group_id and g.deleted_at is null
      where m.user_id = u.id) as groups,
    (select coalesce(json_agg(json_build_object('provider', d.provider, 'subject', d.subject)
      order by d.provider, d.subject), '[]') from user_identities d where d.user_id = u.id) as identities,
    coalesce(added.applications, '[]') as applications, coalesce(keyed.passkeys, '[]') as passkeys
  from page u left join added on added.user_id = u.id left join keyed on keyed.user_id = u.id
  order by u.id`;
