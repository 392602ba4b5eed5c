/** What decides whether somebody gets a code, in one statement: with and without a user it takes the same time. */
import { type SQL, sql } from 'drizzle-orm';
import { columnsOf, nullable, p, statement, t } from '../../database/sql/template.ts';
import type { Call } from '../core/call.ts';
import type { Browser, InBrowser } from '../sessions/browser.ts';
import { findUserByEmail, spellingsOf, userByEmail } from '../users/find-user-by-email.ts';
import { findLatestCode, latestCode, type StoredLoginCode, storedCodeColumns } from './find-latest-code.ts';
import { type Familiarity, findFamiliarity, originKeysOf } from './known-origins.ts';
import type { LoginCodeKeys, LoginCodeSettings } from './login-code.ts';
import { isMutedForStrangers, muteKeysOf } from './muted-addresses.ts';

interface AddressFacts {
  /** The active user with the address. */
  readonly user: { readonly id: string; readonly email: string } | undefined;
  readonly familiarity: Familiarity;
  /** Whether the owner of the address wants no codes that strangers ask for, and this is one. */
  readonly hasMuted: boolean;
  /** The latest code of this login in this browser. */
  readonly latest: StoredLoginCode | undefined;
}

export async function findAddressFacts(
  call: Call,
  settings: Pick<LoginCodeSettings, 'keys'>,
  browser: Browser,
  email: string,
  inBrowser: InBrowser,
): Promise<AddressFacts> {
  const { run, now } = call;
  const { keys } = settings;
  const parameters = {
    ...spellingsOf(email),
    ...originKeysOf(keys, browser, email),
    muteKeys: muteKeysOf(keys, email),
  };
  const found = await run(selectFacts, { ...parameters, ...inBrowser, now });
  if (!found) return findEachFact(call, settings.keys, browser, email, inBrowser);
  const [row] = found;
  const { ownerId, ownerEmail, isKnown, isBrowserKnown, isMuted, latest } = row as NonNullable<typeof row>;
  const familiarity = isBrowserKnown ? 'browser' : isKnown ? 'network' : 'stranger';
  return {
    user: ownerId === null ? undefined : { id: ownerId, email: ownerEmail as string },
    familiarity,
    hasMuted: isMuted && familiarity === 'stranger',
    latest: (latest.id as string | null) === null ? undefined : latest,
  };
}

/** By a statement for each table, where each may be on another server. */
async function findEachFact(
  call: Call,
  keys: LoginCodeKeys,
  browser: Browser,
  email: string,
  inBrowser: InBrowser,
): Promise<AddressFacts> {
  const [user, familiarity, isMuted, latest] = await Promise.all([
    findUserByEmail(call, email),
    findFamiliarity(call, keys, browser, email),
    isMutedForStrangers(call, keys, email),
    findLatestCode(call, inBrowser),
  ]);
  return { user, familiarity, hasMuted: isMuted && familiarity === 'stranger', latest };
}

const selectFacts = statement('select_address_facts', {
  ownerId: nullable(t.uuid),
  ownerEmail: nullable(t.text),
  isKnown: t.boolean,
  isBrowserKnown: t.boolean,
  isMuted: t.boolean,
  latest: storedCodeColumns,
}).ifWhole`
  with owner as (${userByEmail}
  ), known as (
    select key from known_origins where ${isKeyOf('originKeys')} and expires_at > ${p.instant('now')}
  ), muted as (
    select key from muted_addresses where ${isKeyOf('muteKeys')} and expires_at > ${p.instant('now')}
  ), latest as (${latestCode}
  )
  select owner.id as owner_id, owner.email as owner_email, exists (select 1 from known) as is_known,
    exists (select 1 from known where ${isKeyOf('browserKeys')}) as is_browser_known,
    exists (select 1 from muted) as is_muted, ${columnsOf(storedCodeColumns, 'latest')}
  from (select 1 as n) one left join owner on owner.deactivated_at is null left join latest on true`;

/** Whether `key` is in the list of keys in hex. */
function isKeyOf(parameter: string): SQL {
  return sql`key = any(array(select decode(hex, 'hex') from unnest(${p.texts(parameter)}) as hex))`;
}
