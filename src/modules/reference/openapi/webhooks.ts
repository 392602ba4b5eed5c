/** Describes the messages of webhooks in the OpenAPI document, from the examples of the webhook guide. */
import type { JsonObject, JsonValue } from '@bufbuild/protobuf';
import { WEBHOOK_DATA } from '../docs/webhook-guide.ts';
import type { JsonSchema } from './json-schema.ts';

const HEADERS = {
  'webhook-id': 'The ID of the message, the same in every attempt.',
  'webhook-timestamp': 'When the attempt was made, in seconds.',
  'webhook-signature':
    'Of https://www.standardwebhooks.com: `v1,` and the HMAC-SHA256 of `id.timestamp.body`, for each valid key.',
};
/** Absent if the user, event, check-in or session has no value. */
const OPTIONAL = [
  ...['name', 'profileImage', 'firstSignedInAt', 'onBehalfBy'],
  ...['startsAt', 'endsAt', 'capacity', 'admission', 'occurredAt', 'gate'],
];
/** Few messages have them, so that the examples do not. */
const SELDOM: Readonly<Record<string, JsonObject>> = { 'session.created': { onBehalfBy: 'support@example.com' } };

export function describeWebhooks(): JsonSchema {
  return Object.fromEntries(Object.entries(WEBHOOK_DATA).map(([type, data]) => [type, { post: describe(type, data) }]));
}

function describe(type: string, data: JsonObject): JsonSchema {
  const envelope = {
    type: 'object',
    properties: {
      type: { type: 'string', const: type },
      timestamp: { type: 'string', format: 'date-time', description: 'When the change happened.' },
      data: schemaOf({ ...data, ...SELDOM[type] }),
    },
    required: ['type', 'timestamp', 'data'],
  };
  return {
    operationId: `webhook_${type}`,
    summary: `A message of the type ${type}`,
    // The signature is the credential.
    security: [],
    parameters: Object.entries(HEADERS).map(([name, description]) => ({
      name,
      in: 'header',
      required: true,
      description,
      schema: { type: 'string' },
    })),
    requestBody: { required: true, content: { 'application/json': { schema: envelope } } },
    responses: {
      '2XX': { description: 'The message is delivered.' },
      '3XX': { description: 'Another attempt follows. Usher does not follow redirects.' },
      '410': { description: 'The webhook becomes inactive.' },
      '4XX': { description: 'Another attempt follows, after `Retry-After` of a 429.' },
      '5XX': { description: 'Another attempt follows, after `Retry-After` of a 503.' },
    },
  };
}

function schemaOf(value: JsonValue): JsonSchema {
  if (typeof value === 'boolean') return { type: 'boolean' };
  if (typeof value === 'number') return { type: 'integer' };
  if (typeof value === 'string')
    return /^\d{4}-\d\d-\d\dT/.test(value) ? { type: 'string', format: 'date-time' } : { type: 'string' };
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new Error(`Describe ${value}`);
  return {
    type: 'object',
    properties: Object.fromEntries(Object.entries(value).map(([name, each]) => [name, schemaOf(each)])),
    required: Object.keys(value).filter((name) => !OPTIONAL.includes(name)),
  };
}
