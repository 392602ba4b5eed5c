import { createPublicKey, type JsonWebKey, randomUUID, randomUUIDv7 } from 'node:crypto';
import type { Config } from '../../../../src/config/config.ts';
import { isRegistered } from '../../../../src/domain/applications/redirect-uri.ts';
import { ServiceError } from '../../../../src/domain/core/errors.ts';
import {
  check,
  identifier,
  integer,
  oneOf,
  optional,
  text,
  textOfBytes,
  textOrEmpty,
} from '../../../../src/domain/core/validation.ts';
import { RowCipher } from '../../../../src/domain/crypto/aes-gcm.ts';
import { verifyToken } from '../../../../src/domain/tokens/verify-token.ts';
import { ApiKeyCache } from './api-key-cache.ts';
import {
  type CheckInRow,
  FIND_OR_CREATE_SESSION,
  INSERT_CHECK_IN,
  INSERT_INTENT,
  MARK_DELETED,
  type Owner,
  type Query,
  SELECT_WEBHOOK,
  type SessionRow,
  type WebhookRow,
} from './statements.ts';

const INTENT_LIFETIME_MS = 30 * 60_000;
const SESSION_LIFETIME_MS = 15 * 60_000;
const WEBHOOK_ID = /^wh_[0-9a-f]{32}$/;

const webhookRules = { webhookId: text({ max: 255 }) };
const exchangeRules = { authToken: textOfBytes(8192) };
const authUrlRules = {
  clientId: text({ max: 255 }),
  redirectUri: text({ max: 2048 }),
  state: text({ max: 500 }),
  locale: optional(text({ min: 0, max: 200 })),
  prompt: textOrEmpty(oneOf(['LOGIN', 'PASSKEYS'])),
  maxAgeSeconds: optional(integer({ min: 0, max: 31_536_000 })),
};
const eventRules = { eventId: identifier };
const checkInRules = { eventId: identifier, attendeeId: identifier };

export interface Caller {
  readonly application: Owner;
  readonly requestId: string;
  readonly ipAddress: string;
  readonly userAgent: string;
}

export type Operations = ReturnType<typeof createOperations>;

/**
 * Returns what every baseline does between its protocol and its statements. Each operation makes the checks of
 * Usher, takes the fields as the caller sent them, and returns the documented data or throws a ServiceError.
 */
export function createOperations(query: Query, { publicUrl = '', authPageUrl = '', secrets }: Config) {
  const owners = new ApiKeyCache(query);
  const cipher = new RowCipher(secrets.encryptionKeys ?? []);
  const tokenKeys = new Map(
    secrets.authSigningKeys?.map((jwk) => [jwk.kid, createPublicKey({ key: jwk as JsonWebKey, format: 'jwk' })]),
  );
  const issuer = { issuer: publicUrl, findKey: (kid: string) => tokenKeys.get(kid) };

  return {
    authenticate: (apiKey: string | undefined): Promise<Owner> => owners.authenticate(apiKey),

    async getWebhook({ application }: Caller, fields: { webhookId?: unknown }) {
      const { id: applicationId, name, clientId } = application;
      const webhookId = check(fields, webhookRules).webhookId.toLowerCase();
      if (!WEBHOOK_ID.test(webhookId)) throw new ServiceError('INVALID_WEBHOOK_ID');
      const [row] = await query<WebhookRow>(SELECT_WEBHOOK, [applicationId, webhookId]);
      if (!row) throw new ServiceError('WEBHOOK_NOT_FOUND');
      return {
        webhookId,
        signingKey: cipher.decrypt(row.signingKey, { applicationId, id: webhookId }),
        url: row.url,
        isActive: row.isActive,
        application: { id: applicationId, name, clientId },
        owner: { id: row.ownerId, name: row.ownerName ?? '', email: row.ownerEmail },
        createdAt: row.createdAt,
        updatedAt: row.updatedAt,
      };
    },

    async exchangeToken(caller: Caller, fields: { authToken?: unknown }) {
      const { application, ipAddress, userAgent } = caller;
      const { authToken } = check(fields, exchangeRules);
      const now = new Date();
      const { userId, loginIntentId, method, authenticatedAt } = verifyToken(
        authToken,
        issuer,
        application.clientId,
        now,
      );
      const [id, expiresAt] = [randomUUID(), new Date(now.getTime() + SESSION_LIFETIME_MS)];
      const origin = [ipAddress, userAgent];
      const signIn = [method, authenticatedAt, loginIntentId];
      const values = [application.id, userId, id, ...origin, now, expiresAt, ...signIn, expiresAt];
      const audit = auditValues(caller, 'AuthService/ExchangeToken');
      const [session] = await query<SessionRow>(FIND_OR_CREATE_SESSION, [...values, ...audit]);
      if (!session) throw new ServiceError('USER_NOT_FOUND');
      const { email, name, profileImage, walletAddress } = session;
      return {
        user: { email, ...(name !== null && { name }), profileImage, walletAddress },
        session: { id: session.id, createdAt: session.createdAt },
      };
    },

    async generateAuthUrl({ application }: Caller, fields: { [Name in keyof typeof authUrlRules]?: unknown }) {
      const { clientId, redirectUri, state, locale, prompt, maxAgeSeconds } = check(fields, authUrlRules);
      if (clientId !== application.clientId) throw new ServiceError('CLIENT_ID_MISMATCH');
      if (!isRegistered(redirectUri, application.redirectUris)) {
        throw new ServiceError('INVALID_REDIRECT_URI');
      }
      const id = randomUUIDv7();
      const createdAt = new Date();
      const expiresAt = new Date(createdAt.getTime() + INTENT_LIFETIME_MS);
      const options = [locale, prompt, maxAgeSeconds];
      await query(INSERT_INTENT, [application.id, id, redirectUri, state, ...options, createdAt, expiresAt]);
      return { authUrl: `${authPageUrl}?intent=${id}&client_id=${clientId}`, loginIntentId: id };
    },

    async deleteEvent(caller: Caller, fields: { eventId?: unknown }): Promise<void> {
      const { eventId } = check(fields, eventRules);
      const audit = auditValues(caller, 'EventService/DeleteEvent');
      const deleted = await query(MARK_DELETED, [caller.application.id, eventId, new Date(), ...audit]);
      if (deleted.length === 0) throw new ServiceError('EVENT_NOT_FOUND');
    },

    async checkIn(caller: Caller, fields: { eventId?: unknown; attendeeId?: unknown }) {
      const { eventId, attendeeId } = check(fields, checkInRules);
      const now = new Date();
      const values = [caller.application.id, eventId, attendeeId, now];
      const audit = auditValues(caller, 'EventService/CheckIn');
      const [row] = await query<CheckInRow>(INSERT_CHECK_IN, [...values, ...audit]);
      if (!row) throw new ServiceError('EVENT_NOT_FOUND');
      const { checkedInAt, alreadyCheckedIn } = row;
      return { checkIn: { attendeeId, checkedInAt }, alreadyCheckedIn };
    },
  };
}

function auditValues({ application, ipAddress, requestId }: Caller, action: string): string[] {
  return [randomUUID(), application.apiKeyId, action, ipAddress, requestId];
}
