/** The members of a `TestUsher` by their paths on the control port: what each takes, and what it answers. */
import { type DescMessage, fromJson, type JsonObject, toJson } from '@bufbuild/protobuf';
import {
  AuditEventSchema,
  CreateApplicationRequestSchema,
  CreateUserRequestSchema,
  ListAuditEventsRequestSchema,
  UserSchema,
} from '../../gen/usher/v1/admin_pb.ts';
import { findUnknownFields } from '../api/rest/read-fields.ts';
import { unknownFields } from '../api/unknown-fields.ts';
import { invalidField } from '../domain/core/errors.ts';
import { type Rule, rule, Unacceptable } from '../domain/core/rule.ts';
import {
  boolean,
  type Checked,
  check,
  identifier,
  integer,
  listOf,
  objectOf,
  oneOf,
  optional,
  text,
  timestamp,
} from '../domain/core/validation.ts';
import { EVENT_TYPES } from '../domain/outbox/event-types.ts';
import { isObject } from '../encoding/json.ts';
import { parseDuration } from './movable-clock.ts';
import type { Duration, HowToSignIn, OutageKind, TestApplication, TestUsher, WebhookInbox } from './test-usher.ts';

type Json = Record<string, unknown>;

/** Returns what the port answers. @throws ServiceError, or what the member throws */
export type ControlMember = (fields: Json) => Promise<unknown> | unknown;

const anyText = text({ max: 2_048 });
const duration: Rule<Duration> = rule({ type: 'string' }, (value) => {
  const given = typeof value === 'number' ? value : anyText(value);
  try {
    return parseDuration(given);
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    throw new Unacceptable('must be a number of milliseconds, or 90s, 16m, 12h, 90d');
  }
});

const HOW_RULES = {
  method: optional(identifier),
  assurance: optional<HowToSignIn['assurance']>(
    rule({ type: 'string' }, (value) => {
      const levels = ['TWO_FACTORS', 'PHISHING_RESISTANT', 1, 2, 3] as const;
      const level = levels.find((each) => each === value);
      if (level === undefined) throw new Unacceptable(`must be one of ${levels.join(', ')}`);
      return level;
    }),
  ),
  remember: optional(boolean),
  name: optional(identifier),
};

const OUTAGE_KINDS = ['database', 'slow', 'refused'] as const satisfies readonly OutageKind[];
const kind = oneOf(OUTAGE_KINDS);

/** What a test has begun, and names again. */
interface Begun {
  readonly applications: Map<string, TestApplication>;
  readonly outages: Map<OutageKind, AsyncDisposable>;
  readonly inboxes: Map<string, WebhookInbox>;
}

/** Returns the members by path. */
export function createControlMembers(usher: TestUsher): Readonly<Record<string, ControlMember>> {
  const begun: Begun = { applications: new Map(), outages: new Map(), inboxes: new Map() };
  return {
    ...createAccountMembers(usher, begun),
    ...createClockMembers(usher),
    ...createOutageMembers(usher, begun),
    ...createWebhookMembers(usher, begun),
    '/settle': member({}, () => usher.settle()),
    '/reset': member({}, async () => {
      await usher.reset();
      begun.inboxes.clear();
    }),
    '/audit-events': async (fields) => {
      const events = await usher.auditEvents(readMessage(ListAuditEventsRequestSchema, fields));
      return { auditEvents: events.map((event) => toJson(AuditEventSchema, event)) };
    },
  };
}

function createAccountMembers(usher: TestUsher, { applications }: Begun): Record<string, ControlMember> {
  return {
    '/create-application': async (fields) => {
      const application = await usher.createApplication(readMessage(CreateApplicationRequestSchema, fields));
      applications.set(application.clientId, application);
      const { client, ...answer } = application;
      return answer;
    },
    '/create-user': async (fields) =>
      toJson(UserSchema, await usher.createUser(readMessage(CreateUserRequestSchema, fields))),
    '/sign-in': async ({ how, ...fields }) => {
      const { authUrl, user } = checkKnown(fields, { authUrl: anyText, user: anyText });
      return usher.signIn(authUrl, user, readHow(how));
    },
    '/mails': member({ address: anyText }, ({ address }) => ({ mails: usher.mails(address) })),
    '/next-mail': member({ address: anyText }, ({ address }) => usher.nextMail(address)),
  };
}

function createClockMembers({ clock }: TestUsher): Record<string, ControlMember> {
  const answer = () => ({ now: clock.now().toISOString() });
  return {
    '/clock/now': member({}, answer),
    '/clock/advance': member({ duration }, async (fields) => {
      await clock.advance(fields.duration);
      return answer();
    }),
    '/clock/set': member({ date: timestamp }, async ({ date }) => {
      await clock.set(date);
      return answer();
    }),
    '/clock/freeze': member({}, () => {
      clock.freeze();
      return answer();
    }),
    '/clock/run': member({}, () => {
      clock.run();
      return answer();
    }),
  };
}

function createOutageMembers(usher: TestUsher, { outages }: Begun): Record<string, ControlMember> {
  return {
    '/outage': member({ kind }, async (fields) => {
      if (outages.has(fields.kind)) throw invalidField('kind', 'must be of no outage that has begun');
      outages.set(fields.kind, await usher.outage(fields.kind));
    }),
    '/outage/end': member({ kind }, async (fields) => {
      const outage = outages.get(fields.kind);
      if (!outage) throw invalidField('kind', 'must be of an outage that has begun');
      outages.delete(fields.kind);
      await outage[Symbol.asyncDispose]();
    }),
  };
}

function createWebhookMembers(usher: TestUsher, { applications, inboxes }: Begun): Record<string, ControlMember> {
  const inboxOf = (webhookId: string) => {
    const inbox = inboxes.get(webhookId);
    if (!inbox) throw invalidField('webhookId', 'must be one that /receive-webhooks has answered');
    return inbox;
  };
  const webhookId = anyText;
  return {
    '/receive-webhooks': member(
      { application: anyText, types: optional(listOf(anyText, { min: 1, max: 100 })) },
      async ({ application: clientId, types }) => {
        const application = applications.get(clientId);
        if (!application) throw invalidField('application', 'must be a clientId that /create-application has answered');
        const inbox = await usher.receiveWebhooks(application, types ?? undefined);
        inboxes.set(inbox.webhookId, inbox);
        return { webhookId: inbox.webhookId };
      },
    ),
    '/webhooks/next': member({ webhookId, type: optional(oneOf(EVENT_TYPES)) }, ({ type, ...fields }) =>
      inboxOf(fields.webhookId).next(type ?? undefined),
    ),
    '/webhooks/all': member({ webhookId }, (fields) => ({ messages: inboxOf(fields.webhookId).all() })),
    '/webhooks/fail': member(
      {
        webhookId,
        times: optional(integer({ min: 1, max: 1_000 })),
        status: optional(integer({ min: 300, max: 599 })),
      },
      ({ times, status, ...fields }) => inboxOf(fields.webhookId).fail(times ?? undefined, status ?? undefined),
    ),
  };
}

function member<Rules extends Record<string, Rule<unknown>>>(
  rules: Rules,
  run: (fields: Checked<Rules>) => unknown,
): ControlMember {
  return (fields) => run(checkKnown(fields, rules));
}

/** @throws ServiceError `Validation failed`, also for fields without a rule */
function checkKnown<Rules extends Record<string, Rule<unknown>>>(fields: Json, rules: Rules): Checked<Rules> {
  requireKnown(fields, rules);
  return check(fields, rules);
}

function requireKnown(fields: Json, rules: Readonly<Record<string, unknown>>, path = ''): void {
  const unknown = Object.keys(fields).filter((name) => !Object.hasOwn(rules, name));
  if (unknown.length > 0) throw unknownFields(unknown.map((name) => path + name));
}

function readHow(how: unknown): HowToSignIn {
  if (how === undefined) return {};
  if (isObject(how)) requireKnown(how, HOW_RULES, 'how.');
  const given = check({ how }, { how: objectOf(HOW_RULES) }).how;
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== null));
}

/** Returns the fields of a message that were sent: the others get the defaults of tests. @throws ServiceError */
function readMessage(schema: DescMessage, fields: Json) {
  const unknown = findUnknownFields(schema, fields);
  if (unknown.length > 0) throw unknownFields(unknown);
  const message = parseMessage(schema, fields);
  return Object.fromEntries(Object.entries(message).filter(([name]) => Object.hasOwn(fields, name)));
}

function parseMessage(schema: DescMessage, fields: Json) {
  try {
    // They come from JSON.
    return fromJson(schema, fields as JsonObject);
  } catch (error) {
    throw invalidField('body', error instanceof Error ? error.message : String(error));
  }
}
