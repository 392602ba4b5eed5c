import { loginIntents } from '../../../../database/schema/intent-schema.ts';
import { p, statement } from '../../../../database/sql/template.ts';
import { ONE_FACTOR } from '../../../../domain/core/assurance.ts';
import { networkOf } from '../../../../domain/login/network.ts';
import type { CodeCall } from '../grants/redeem-code.ts';
import { OidcError } from '../oidc-error.ts';
import type { TokenKeys } from '../tokens/token-keys.ts';
import { createDeviceCode, createUserCode, digestUserCode, loginIntentIdsOf } from './device-codes.ts';

export const DEVICE_LOGIN_SECONDS = 600;
/** How long a device waits between two questions. */
export const POLL_SECONDS = 5;
/** Open requests of an application. Concurrent ones may exceed it by their number. */
const MOST = 1_000;
const RETRY_AFTER = { 'retry-after': '60' };

interface DeviceRequest {
  readonly address: string;
  /** Bits, as in `scope.ts`. */
  readonly scope: number;
  /** The scopes at the resource, if the application is not the client. */
  readonly names: readonly string[];
  readonly requiredAssurance: number;
}

interface DeviceLogin {
  readonly deviceCode: string;
  readonly userCode: string;
}

/**
 * Begins a login that a person completes in the browser of another device (RFC 8628, section 3.1).
 *
 * @throws OidcError `temporarily_unavailable` with 429 if the application has 1,000 open ones
 */
export async function beginDeviceLogin(
  { application, forClient, run, now }: CodeCall,
  { deviceCode: keys }: Pick<TokenKeys, 'deviceCode'>,
  { address, scope, names, requiredAssurance }: DeviceRequest,
): Promise<DeviceLogin> {
  const [deviceCode, userCode] = [createDeviceCode(), createUserCode()];
  const [begun] = await run(insertDeviceLogin, {
    applicationId: application.id,
    id: loginIntentIdsOf(keys, deviceCode)[0],
    userCodeDigest: digestUserCode(keys, userCode)[0],
    startedFrom: networkOf(address),
    scope,
    forClient,
    scopeNames: forClient === null ? null : names,
    // That of the application may include what its client demands.
    requiredAssurance: Math.max(requiredAssurance, application.requiredAssurance ?? ONE_FACTOR),
    most: MOST,
    pollSeconds: POLL_SECONDS,
    now,
    expiresAt: new Date(now.getTime() + DEVICE_LOGIN_SECONDS * 1_000),
  });
  if (begun) return { deviceCode, userCode };
  const description = 'Too many devices are waiting';
  throw new OidcError('temporarily_unavailable', { description, status: 429, headers: RETRY_AFTER });
}

/** The login leads to no redirect URI: the person stays on the page of Usher. */
const insertDeviceLogin = statement('insert_device_login', { id: loginIntents.id })`
  with present as (
    select count(*) >= ${p.integer('most')} as is_full from login_intents
    where application_id = ${p.uuid('applicationId')} and user_code_digest is not null
      and expires_at > ${p.instant('now')} and redeemed_at is null and approved is not false
  )
  insert into login_intents
    (application_id, id, redirect_uri, state, response_mode, scope, user_code_digest, started_from, poll_seconds,
      client_id, scope_names, required_assurance, created_at, expires_at)
  select ${p.uuid('applicationId')}, ${p.uuid('id')}, '', '', 'device', ${p.integer('scope')},
    ${p.bytes('userCodeDigest')}, ${p.text('startedFrom')}, ${p.integer('pollSeconds')},
    ${p.text('forClient')}, ${p.texts('scopeNames')}, ${p.integer('requiredAssurance')}, ${p.instant('now')},
    ${p.instant('expiresAt')}
  from present where not is_full
  returning id`;
