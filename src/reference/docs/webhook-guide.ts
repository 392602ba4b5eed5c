/** The guide to webhooks: the form of messages, and how to verify them. */
import type { JsonObject } from '@bufbuild/protobuf';
import type { EventType } from '../../domain/outbox/event-types.ts';
import { html } from '../../http/html.ts';
import { renderCodeBlock, renderTable } from './text.ts';

const AT = '2026-03-14T09:26:53.589Z';
const EVENT = {
  eventId: 'party-2026',
  name: 'Sommerfest Zürich',
  createdAt: AT,
  startsAt: '2026-07-04T16:00:00.000Z',
  endsAt: '2026-07-05T01:00:00.000Z',
  capacity: 250,
  admission: 'LISTED',
} as const;

const USER_ID = '8f14e45f-ceea-467f-ab5b-5d2c1f0e9a37';
const PROFILE = {
  email: 'ada@example.com',
  name: 'Ada Lovelace',
  profileImage: 'https://images.example.com/ada.png',
  walletAddress: '0x52908400098527886E0F7030069857D2E4169EE7',
};
const USER = { id: USER_ID, ...PROFILE, isActive: true, firstSignedInAt: AT };

/** Examples of `data`, by the type of the message. */
export const WEBHOOK_DATA = {
  'session.created': {
    userId: USER_ID,
    user: PROFILE,
    createdAt: AT,
    expiresAt: '2026-03-14T09:41:53.589Z',
    ipAddress: '203.0.113.7',
    userAgent: 'Mozilla/5.0 …',
    method: 'email',
  },
  'session.revoked': { userId: USER_ID },
  'user.created': USER,
  'user.updated': USER,
  'user.deactivated': { ...USER, isActive: false },
  'user.deleted': { id: USER_ID },
  'event.created': EVENT,
  'event.updated': { ...EVENT, capacity: 300 },
  'event.deleted': { ...EVENT, capacity: 300, deletedAt: AT },
  'check_in.created': {
    eventId: 'party-2026',
    attendeeId: 'ticket-4711',
    checkedInAt: AT,
    occurredAt: '2026-03-14T09:26:48.000Z',
    gate: 'North',
  },
  'check_in.undone': { eventId: 'party-2026', attendeeId: 'ticket-4711' },
  'webhook.test': { webhookId: 'wh_5f3c0b9a7d1e4c28a6b4e8f7d2c19035' },
} as const satisfies Readonly<Record<EventType, JsonObject>>;

/** An example of a receiver. `src/delivery/README.md` has the same text, and a test compares them. */
export const RECEIVER = [
  "import { env } from 'node:process';",
  "import express from 'express';",
  "import { verifyWebhook } from 'usher-client';",
  '',
  "const { SIGNING_KEY = '', PORT = '3000' } = env;",
  'const app = express();',
  "app.post('/hooks', express.raw({ type: '*/*', limit: '256kb' }), async (request, response) => {",
  '  const { id, type, data } = await verifyWebhook(SIGNING_KEY, request.headers, request.body);',
  '  // A message may come twice: handle each `id` once.',
  '  console.log(id, type, data);',
  '  response.status(204).end();',
  '});',
  `app.listen(Number(PORT), '127.0.0.1', () => console.log(\`http://127.0.0.1:\${PORT}/hooks\`));`,
].join('\n');

export const WEBHOOK_GUIDE = html`<p>A webhook gets a POST for each change it subscribes to, signed as <a href="https://www.standardwebhooks.com">Standard Webhooks</a> describes.
Its libraries verify it, and so does the client package:</p>
${renderCodeBlock(RECEIVER)}
${renderTable(
  ['Header', 'Value'],
  [
    [
      '`webhook-id`',
      'The ID of the message, the same in every attempt. Remember it: a message may come more than once.',
    ],
    ['`webhook-timestamp`', 'When the attempt was made, in seconds.'],
    ['`webhook-signature`', '`v1,` and the HMAC-SHA256 of `id.timestamp.body` in base64, one for each valid key.'],
    ['`webhook-sequence`', 'A number that orders the messages of an application.'],
  ],
)}
<p>Answer 2xx. After 410 Usher makes the webhook inactive. After any other answer it tries again, and observes <code>Retry-After</code> of a 429 or 503.</p>
${Object.entries(WEBHOOK_DATA).map(
  ([type, data]) =>
    html`<details><summary>${type}</summary>${renderCodeBlock(JSON.stringify({ type, timestamp: AT, data }, null, 2))}</details>\n`,
)}`;
