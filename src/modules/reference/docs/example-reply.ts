import type { JsonValue } from '@bufbuild/protobuf';
import type { SchemaObject } from './openapi.ts';

const UUID = '8f14e45f-ceea-467f-ab5b-5d2c1f0e9a37';
const LOGO_URI = `https://login.example.com/login/logo/${UUID}/light/6b86b273ff34fce1…`;

/** Values by field name, or by `Message.field` where messages share a name. Other fields get a value of their type. */
const VALUES: Readonly<Record<string, JsonValue>> = {
  'ApiKey.name': 'Kasse 2 – Süd',
  'Application.name': 'Café Zoë',
  'Event.name': 'Sommerfest Zürich',
  'WebhookApplication.name': 'Café Zoë',
  accentColor: '#0f5e5a',
  action: 'EventService/CreateEvent',
  actor: 'admin',
  actorType: 'admin_key',
  apiKey: 'usk_mC9tQ2fVx7…',
  applicationName: 'Café Zoë',
  attemptCount: 1,
  attendeeId: 'ticket-4711',
  authToken: 'eyJhbGciOiJFZERTQSIs…',
  authUrl: `https://login.example.com/login?intent=${UUID}&client_id=client_fd2b7c0a`,
  clientId: 'client_fd2b7c0a',
  darkLogoUri: LOGO_URI.replace('light', 'dark'),
  description: 'Zoë – check-ins & more',
  durationMs: 84,
  email: 'ada@example.com',
  eventId: 'party-2026',
  eventTypes: ['*'],
  initiateLoginUri: 'https://app.example.com/login',
  ipAddress: '203.0.113.7',
  lastStatusCode: 204,
  loginMethods: ['email', 'passkey'],
  logoUri: LOGO_URI,
  messageId: 'msg_42',
  method: 'email',
  name: 'Ada Lovelace',
  nextPageToken: '',
  privacyUri: 'https://app.example.com/privacy',
  profileImage: 'https://example.com/ada.png',
  redirectUris: ['https://app.example.com/callback'],
  redirectUrl: 'https://app.example.com/callback?authToken=eyJhbGciOi…&state=…&iss=…',
  requestId: UUID,
  resource: 'party-2026',
  responseBody: '',
  sessionIdleSeconds: 900,
  sessionMaxAgeSeconds: 3600,
  signingKey: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw…',
  state: 'open',
  status: 'succeeded',
  statusCode: 204,
  supportUri: 'mailto:help@example.com',
  termsUri: 'https://app.example.com/terms',
  type: 'event.created',
  url: 'https://example.com/hooks',
  userAgent: 'Mozilla/5.0 …',
  walletAddress: '0x52908400098527886E0F7030069857D2E4169EE7',
  webhookId: 'wh_5f3c0b9a7d1e4c28a6b4e8f7d2c19035',
};

/** Fields that a typical reply does not have. */
const ABSENT = ['disabledReason', 'error', 'lastError', 'nextAttemptAt', 'deactivatedAt', 'revokedAt', 'replacedBy'];

/** Returns an example value of the schema. `name` and `message` are those of the field that has the schema, if any. */
export function exampleReply(schema: SchemaObject, name = '', message = ''): JsonValue {
  const { const: constant, items, properties, title, type = 'object' } = schema;
  if (constant !== undefined) return constant as JsonValue;
  if (items && !(name in VALUES)) return [exampleReply(items, name)];
  if (properties || type === 'object') {
    const entries = Object.entries(properties ?? {}).filter(([key]) => !ABSENT.includes(key));
    return Object.fromEntries(entries.map(([key, each]) => [key, exampleReply(each, key, title)]));
  }
  const known = VALUES[`${message}.${name}`] ?? VALUES[name];
  if (known !== undefined) return known;
  if (type === 'boolean') return true;
  if (type === 'integer') return 1;
  return schema.format === 'date-time' ? '2026-03-14T09:26:53.589Z' : UUID;
}
