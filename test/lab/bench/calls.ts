/** The calls that are measured: their requests, and the response that each must have. */
import { randomUUID } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type { DescMethodUnary, JsonObject, JsonValue } from '@bufbuild/protobuf';
import { AuthService } from '../../../gen/usher/v1/auth_pb.ts';
import { EventService } from '../../../gen/usher/v1/event_pb.ts';
import { SessionService } from '../../../gen/usher/v1/session_pb.ts';
import { WebhookService } from '../../../gen/usher/v1/webhook_pb.ts';
import { UUID } from '../../../src/domain/core/validation.ts';
import { TOKEN_LIFETIME_SECONDS, TOKEN_TYPE, toSeconds } from '../../../src/domain/tokens/verify-token.ts';
import { signToken } from '../../support/issuer.ts';
import {
  AUTH_PAGE_URL,
  eventIdAt,
  type Fixtures,
  ISSUER,
  OPEN_EVENTS,
  openEventIdAt,
  SIGNED_IN_USERS,
  SIGNING_KEY_ID,
  sessionIdAt,
  userAt,
  WEBHOOKS,
  webhookAt,
} from './fixtures.ts';

export interface BenchCall {
  readonly name: (typeof CALL_NAMES)[number];
  readonly method: DescMethodUnary;
  /** How many different requests there are, if requests can be repeated. */
  readonly distinct?: number;
  exampleAt(number: number): Example;
}

export interface Example {
  /** The fields of the request message. */
  readonly fields: JsonObject;
  /** Whether this is the expected response message, as JSON. */
  accepts(response: JsonObject): boolean;
}

/** By how much the clocks of a server and of this process may differ. */
const CLOCK_MS = 1_000;

export const CALL_NAMES = [
  'GetWebhook',
  'CheckSession',
  'ExchangeToken first',
  'ExchangeToken again',
  'GenerateAuthUrl',
  'DeleteEvent',
  'CheckIn',
] as const;

export function createCalls(fixtures: Fixtures, { openEvents = OPEN_EVENTS } = {}): BenchCall[] {
  return [
    {
      name: 'GetWebhook',
      method: WebhookService.method.getWebhook,
      distinct: WEBHOOKS,
      exampleAt: getWebhook(fixtures),
    },
    {
      name: 'CheckSession',
      method: SessionService.method.checkSession,
      distinct: SIGNED_IN_USERS,
      exampleAt: checkSession,
    },
    {
      name: 'ExchangeToken first',
      method: AuthService.method.exchangeToken,
      exampleAt: (number) => exchangeFirst(fixtures, SIGNED_IN_USERS + number),
    },
    {
      name: 'ExchangeToken again',
      method: AuthService.method.exchangeToken,
      distinct: SIGNED_IN_USERS,
      exampleAt: (number) => exchangeAgain(fixtures, number),
    },
    { name: 'GenerateAuthUrl', method: AuthService.method.generateAuthUrl, exampleAt: generateAuthUrl(fixtures) },
    { name: 'DeleteEvent', method: EventService.method.deleteEvent, exampleAt: deleteEvent },
    { name: 'CheckIn', method: EventService.method.checkIn, exampleAt: checkIn(openEvents) },
  ];
}

/** @throws if there is no such call */
export function findCall(fixtures: Fixtures, name: string, options?: { openEvents: number }): BenchCall {
  const call = createCalls(fixtures, options).find((call) => call.name === name);
  if (!call) throw new Error(`There is no ${name}`);
  return call;
}

function getWebhook({ application: { redirectUris: _, ...application }, createdAt }: Fixtures) {
  return (number: number): Example => {
    const { id, signingKey, url, owner } = webhookAt(number);
    const webhook = {
      webhookId: id,
      signingKey,
      url,
      isActive: true,
      application,
      owner: { id: owner.id, name: owner.name, email: owner.email },
      createdAt: createdAt.toISOString(),
      updatedAt: createdAt.toISOString(),
    };
    return { fields: { webhookId: id }, accepts: (response) => isDeepStrictEqual(response, { webhook }) };
  };
}

function checkSession(number: number): Example {
  const { id: userId, ...user } = userAt(number);
  return {
    fields: { sessionId: sessionIdAt(number) },
    accepts: ({ active, session }) =>
      active === true && isObject(session) && session.userId === userId && isDeepStrictEqual(session.user, user),
  };
}

function exchangeFirst(fixtures: Fixtures, number: number): Example {
  const { id: userId, ...user } = userAt(number);
  const preparedAt = Date.now();
  return {
    fields: { authToken: createToken(fixtures, userId) },
    accepts: (response) =>
      isObject(response.session) &&
      isUuid(response.session.id) &&
      isSince(preparedAt, response.session.createdAt) &&
      hasFields(response.user, user),
  };
}

function exchangeAgain(fixtures: Fixtures, number: number): Example {
  const { id: userId, ...user } = userAt(number);
  const session = { id: sessionIdAt(number), createdAt: fixtures.createdAt.toISOString() };
  return {
    fields: { authToken: createToken(fixtures, userId) },
    accepts: (response) => hasFields(response.user, user) && hasFields(response.session, session),
  };
}

function generateAuthUrl({ application: { clientId, redirectUris } }: Fixtures) {
  return (number: number): Example => ({
    fields: { clientId, redirectUri: redirectUris[1] ?? '', state: `state-of-a-request-${number}` },
    accepts: ({ authUrl, loginIntentId }) =>
      isUuid(loginIntentId) && authUrl === `${AUTH_PAGE_URL}?intent=${loginIntentId}&client_id=${clientId}`,
  });
}

function deleteEvent(number: number): Example {
  return { fields: { eventId: eventIdAt(number) }, accepts: (response) => isDeepStrictEqual(response, {}) };
}

function checkIn(openEvents: number) {
  return (number: number): Example => {
    const attendeeId = `attendee-${number}`;
    const preparedAt = Date.now();
    return {
      fields: { eventId: openEventIdAt(number % openEvents), attendeeId },
      // The JSON of protobuf leaves out a field that is false.
      accepts: ({ checkIn, alreadyCheckedIn }) =>
        isObject(checkIn) &&
        checkIn.attendeeId === attendeeId &&
        isSince(preparedAt, checkIn.checkedInAt) &&
        !alreadyCheckedIn,
    };
  };
}

/** Returns the auth token of a new login. */
function createToken({ application, tokenKey }: Fixtures, userId: string): string {
  const iat = toSeconds(new Date());
  const claims = { iss: ISSUER, aud: application.clientId, sub: userId, jti: randomUUID(), iat };
  return signToken(
    { alg: 'EdDSA', typ: TOKEN_TYPE, kid: SIGNING_KEY_ID },
    { ...claims, exp: iat + TOKEN_LIFETIME_SECONDS },
    { alg: 'EdDSA', privateKey: tokenKey },
  );
}

/** Usher's own protocols have further fields of a session than REST and the other servers. */
function hasFields(value: JsonValue | undefined, expected: JsonObject): boolean {
  return isObject(value) && Object.keys(expected).every((name) => isDeepStrictEqual(value[name], expected[name]));
}

function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isUuid(value: JsonValue | undefined): boolean {
  return typeof value === 'string' && UUID.test(value);
}

/** Returns whether the row is of the request that was prepared then, however long ago that is. */
function isSince(preparedAt: number, value: JsonValue | undefined): boolean {
  const at = typeof value === 'string' ? Date.parse(value) : Number.NaN;
  return at >= preparedAt - CLOCK_MS && at <= Date.now() + CLOCK_MS;
}
