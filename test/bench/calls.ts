/** The calls that are measured: what is asked for, and what the answer must be. */
import { isDeepStrictEqual } from 'node:util';
import type { DescMethodUnary, JsonObject, JsonValue } from '@bufbuild/protobuf';
import { AuthService } from '../../gen/usher/v1/auth_pb.ts';
import { EventService } from '../../gen/usher/v1/event_pb.ts';
import { WebhookService } from '../../gen/usher/v1/webhook_pb.ts';
import { UUID } from '../../src/domain/validation.ts';
import {
  AUTH_PAGE_URL,
  eventIdAt,
  type Fixtures,
  OPEN_EVENTS,
  openEventIdAt,
  SIGNED_IN_USERS,
  sessionIdAt,
  userAt,
  WEBHOOKS,
  webhookAt,
} from './fixtures.ts';
import { signToken } from './sign-token.ts';

export interface BenchCall {
  readonly name: string;
  readonly method: DescMethodUnary;
  /** How many different orders there are, where the same may be placed again; undefined: none may. */
  readonly variety?: number;
  orderAt(number: number): WorkerInit;
}

export interface WorkerInit {
  /** Of the request message. */
  readonly fields: JsonObject;
  /** Whether this is the answer: the response message as JSON, whatever protocol it came over. */
  accepts(answer: JsonObject): boolean;
}

/** How far the time of something that has just happened may be from now. */
const RECENT_MS = 60_000;

export function createCalls(fixtures: Fixtures, { openEvents = OPEN_EVENTS } = {}): BenchCall[] {
  return [
    {
      name: 'GetWebhook',
      method: WebhookService.method.getWebhook,
      variety: WEBHOOKS,
      orderAt: orderWebhook(fixtures),
    },
    {
      name: 'ExchangeToken first',
      method: AuthService.method.exchangeToken,
      orderAt: (number) => orderFirstExchange(fixtures, SIGNED_IN_USERS + number),
    },
    {
      name: 'ExchangeToken again',
      method: AuthService.method.exchangeToken,
      variety: SIGNED_IN_USERS,
      orderAt: (number) => orderRepeatedExchange(fixtures, number),
    },
    { name: 'GenerateAuthUrl', method: AuthService.method.generateAuthUrl, orderAt: orderAuthUrl(fixtures) },
    { name: 'DeleteEvent', method: EventService.method.deleteEvent, orderAt: orderDeletion },
    { name: 'CheckIn', method: EventService.method.checkIn, orderAt: orderCheckIn(openEvents) },
  ];
}

function orderWebhook({ application: { redirectUris: _, ...application }, createdAt }: Fixtures) {
  return (number: number): WorkerInit => {
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
    return { fields: { webhookId: id }, accepts: (answer) => isDeepStrictEqual(answer, { webhook }) };
  };
}

function orderFirstExchange(fixtures: Fixtures, number: number): WorkerInit {
  const { id: userId, ...user } = userAt(number);
  return {
    fields: { authToken: signToken(fixtures, userId) },
    accepts: (answer) =>
      isObject(answer.session) &&
      isUuid(answer.session.id) &&
      isRecent(answer.session.createdAt) &&
      isDeepStrictEqual(answer.user, user),
  };
}

function orderRepeatedExchange(fixtures: Fixtures, number: number): WorkerInit {
  const { id: userId, ...user } = userAt(number);
  const session = { id: sessionIdAt(number), createdAt: fixtures.createdAt.toISOString() };
  return {
    fields: { authToken: signToken(fixtures, userId) },
    accepts: (answer) => isDeepStrictEqual(answer, { user, session }),
  };
}

function orderAuthUrl({ application: { clientId, redirectUris } }: Fixtures) {
  return (number: number): WorkerInit => ({
    fields: { clientId, redirectUri: redirectUris[1] ?? '', state: `state-of-a-request-${number}` },
    accepts: ({ authUrl, loginIntentId }) =>
      isUuid(loginIntentId) && authUrl === `${AUTH_PAGE_URL}?intent=${loginIntentId}`,
  });
}

function orderDeletion(number: number): WorkerInit {
  return { fields: { eventId: eventIdAt(number) }, accepts: (answer) => isDeepStrictEqual(answer, {}) };
}

function orderCheckIn(openEvents: number) {
  return (number: number): WorkerInit => {
    const attendeeId = `attendee-${number}`;
    return {
      fields: { eventId: openEventIdAt(number % openEvents), attendeeId },
      // JSON of protobuf leaves a false out.
      accepts: ({ checkIn, alreadyCheckedIn }) =>
        isObject(checkIn) && checkIn.attendeeId === attendeeId && isRecent(checkIn.checkedInAt) && !alreadyCheckedIn,
    };
  };
}

function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isUuid(value: JsonValue | undefined): boolean {
  return typeof value === 'string' && UUID.test(value);
}

function isRecent(value: JsonValue | undefined): boolean {
  return typeof value === 'string' && Math.abs(Date.parse(value) - Date.now()) < RECENT_MS;
}
