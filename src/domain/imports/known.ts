/** What the database knows of the users, identities, applications and groups that lines name. */

import { listSpellings } from '../../config/email-address.ts';
import type { Run } from '../../database/pool/database.ts';
import { nullable, p, statement, t } from '../../database/sql/template.ts';
import type { Call } from '../core/call.ts';
import { MAX_GROUPS_OF_USER } from '../groups/group.ts';
import type { UserLine } from './user-line.ts';

/** By kind and key: the ID of the user who has it. Null for a deleted user, an application and a group. */
export type Known = ReadonlyMap<string, string | null>;

/** Issuers by the ID of the provider. */
export type Issuers = ReadonlyMap<string, string>;

/** The keys of a line of which each belongs to one user. */
export function uniqueKeysOf(line: UserLine, issuers: Issuers): string[] {
  const { id, externalId, email, walletAddress, identities, passkeys } = line;
  return [
    ...(id === null ? [] : [`id ${id}`]),
    ...(externalId === null ? [] : [`externalId ${externalId}`]),
    ...listSpellings(email).map((spelling) => `email ${spelling}`),
    ...(walletAddress === '' ? [] : [`walletAddress ${walletAddress.toLowerCase()}`]),
    ...identities.map(({ provider, subject }) => `identity ${issuers.get(provider) ?? ''} ${subject}`),
    ...passkeys.map(({ credentialId }) => `passkey ${credentialId.toString('hex')}`),
  ];
}

/** Reads with one statement for all lines, and one more if a line has a passkey. */
export async function findKnown(run: Run, lines: readonly UserLine[], issuers: Issuers): Promise<Known> {
  const identities = lines.flatMap((line) => line.identities);
  const credentialIds = lines.flatMap(({ passkeys }) =>
    passkeys.map(({ credentialId }) => credentialId.toString('hex')),
  );
  const rows = await run(selectKnown, {
    ids: lines.flatMap(({ id }) => id ?? []),
    externalIds: lines.flatMap(({ externalId }) => externalId ?? []),
    emails: lines.flatMap(({ email }) => listSpellings(email)),
    // Equivalent: choice: nobody has the empty one
    wallets: lines.flatMap(({ walletAddress }) => (walletAddress === '' ? [] : walletAddress.toLowerCase())),
    issuers: identities.map(({ provider }) => issuers.get(provider) ?? ''),
    subjects: identities.map(({ subject }) => subject),
    applicationIds: lines.flatMap(({ applications }) => applications),
    groups: lines.flatMap(({ groups }) => groups),
  });
  const keys = credentialIds.length > 0 ? await run(selectKnownPasskeys, { credentialIds }) : [];
  return new Map([...rows, ...keys].map(({ key, owner }) => [key, owner]));
}

/** Returns whether the groups of the line would bring the user beyond the limit. */
export async function isBeyondGroups({ run }: Call, line: UserLine, userId: string, known: Known): Promise<boolean> {
  if (line.groups.length === 0) return false;
  const groupIds = line.groups.flatMap((name) => known.get(`group ${name}`) ?? []);
  const found = await run(selectBeyondGroups, { userId, groupIds, most: MAX_GROUPS_OF_USER });
  return found.length > 0;
}

const ROW = { key: t.text, owner: nullable(t.uuid) };

const selectKnown = statement('select_known_of_lines', ROW)`
  select 'id ' || id as key, case when deleted_at is null then id end as owner from users
  where id = any(${p.uuids('ids')})
  union all select 'externalId ' || external_id, id from users
  where external_id = any(${p.texts('externalIds')}) and deleted_at is null
  union all select 'email ' || lower(email collate "C"), id from users
  where lower(email collate "C") = any(${p.texts('emails')}) and deleted_at is null
  union all select 'walletAddress ' || given.wallet, id from users
    join unnest(${p.texts('wallets')}) as given(wallet) on lower(wallet_address) = lower(given.wallet)
  where deleted_at is null
    -- Equivalent: conjunct: no empty wallet is given
    and wallet_address <> ''
  union all select 'identity ' || given.issuer || ' ' || given.subject, user_id from user_identities d
    join unnest(${p.texts('issuers')}, ${p.texts('subjects')}) as given(issuer, subject)
      on d.issuer = given.issuer and d.subject = given.subject
  union all select 'application ' || id, null from applications
  where id = any(${p.uuids('applicationIds')}) and deleted_at is null
  union all select 'group ' || name, id from groups where name = any(${p.texts('groups')})`;

const selectKnownPasskeys = statement('select_known_passkeys', ROW)`
  select 'passkey ' || encode(credential_id, 'hex') as key, user_id as owner from passkeys
  where credential_id = any(array(select decode(hex, 'hex') from unnest(${p.texts('credentialIds')}) as hex))`;

const selectBeyondGroups = statement('select_beyond_groups')`
  select from (
    select group_id from group_members where user_id = ${p.uuid('userId')}
    union select * from unnest(${p.uuids('groupIds')})
  ) as own having count(*) > ${p.integer('most')}`;
