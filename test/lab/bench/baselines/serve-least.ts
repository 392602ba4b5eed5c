/**
 * The least that a call over REST costs in Node: HTTP, JSON, and one prepared statement by the connections of Usher. No API
 * key, no check of a field, no audit event, no message to webhooks, no line in the log.
 */
import { randomUUIDv7 } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createServer, type IncomingMessage } from 'node:http';
import { readConfig } from '../../../../src/config/config.ts';
import { Connection } from '../../../../src/database/connection/connection.ts';
import { readTarget } from '../../../../src/database/connection/open-client.ts';
import { PrimaryFinder } from '../../../../src/database/primary/primary-finder.ts';
import { webhooks } from '../../../../src/database/schema/webhook-schema.ts';
import type { PlaceholderValues, Statement } from '../../../../src/database/sql/statement.ts';
import { p, statement, t } from '../../../../src/database/sql/template.ts';
import { RowCipher } from '../../../../src/domain/crypto/aes-gcm.ts';

process.once('SIGTERM', () => process.exit(0));
const {
  authPageUrl,
  databaseUrl = '',
  host,
  port,
  secrets,
} = readConfig(process.env, (path) => readFileSync(path, 'utf8'));
const cipher = new RowCipher(secrets.encryptionKeys ?? []);

const target = readTarget(databaseUrl);
const options = { name: 'least', primary: new PrimaryFinder(target), statementTimeoutMs: 10_000, lockTimeoutMs: 0 };
const connections = Array.from({ length: 4 }, () => new Connection(target, options));

function run<Rows>(statement: Statement<Rows>, parameters: PlaceholderValues): Promise<Rows> {
  const connection = connections.reduce((least, other) => (other.pending < least.pending ? other : least));
  return connection.run({ statement, parameters, deadline: Number.POSITIVE_INFINITY });
}

const WEBHOOK = {
  webhookId: t.text,
  signingKey: webhooks.signingKey,
  url: t.text,
  isActive: t.boolean,
  application: { applicationId: t.uuid, applicationName: t.text, clientId: t.text },
  owner: { ownerId: t.uuid, ownerName: t.text, email: t.text },
  createdAt: t.instant,
  updatedAt: t.instant,
};

const selectWebhook = statement('least_webhook', WEBHOOK)`
  select w.id as webhook_id, w.signing_key, w.url, w.is_active, w.created_at, w.updated_at, a.id as application_id,
    a.name as application_name, a.client_id, u.id as owner_id, u.name as owner_name, u.email
  from webhooks w join applications a on a.id = w.application_id join users u on u.id = w.owner_id
  where w.id = ${p.text('id')}`;

const insertIntent = statement('least_intent')`
  insert into login_intents (application_id, id, redirect_uri, state, created_at, expires_at)
  select id, ${p.uuid('intentId')}, ${p.text('redirectUri')}, ${p.text('state')}, ${p.instant('now')},
    ${p.instant('expiresAt')}
  from applications where client_id = ${p.text('clientId')}`;

const deleteEvent = statement('least_delete')`
  update events set deleted_at = ${p.instant('now')} where id = ${p.text('id')} and deleted_at is null`;

const insertCheckIn = statement('least_check_in', { checkedInAt: t.instant })`
  insert into check_ins (application_id, event_id, attendee_id, checked_in_at)
  select application_id, id, ${p.text('attendeeId')}, ${p.instant('now')} from events where id = ${p.text('id')}
  returning checked_in_at`;

const INTENT_MS = 30 * 60_000;

interface Route {
  readonly method: string;
  readonly prefix: string;
  readonly message: string;
  run(request: IncomingMessage, id: string): Promise<unknown>;
}

const ROUTES: readonly Route[] = [
  {
    method: 'GET',
    prefix: '/api/webhooks/',
    message: 'Webhook retrieved successfully',
    async run(_, id) {
      const [webhook] = await run(selectWebhook, { id });
      if (!webhook) throw new Error(`There is no webhook ${id}`);
      const { application, owner, signingKey } = webhook;
      const { applicationId, applicationName: name, clientId } = application;
      return {
        ...webhook,
        signingKey: cipher.decrypt(signingKey, { applicationId, id }),
        application: { id: applicationId, name, clientId },
        owner: { id: owner.ownerId, name: owner.ownerName, email: owner.email },
      };
    },
  },
  {
    method: 'DELETE',
    prefix: '/api/events/',
    message: 'Event deleted successfully',
    async run(_, id) {
      await run(deleteEvent, { id, now: new Date() });
    },
  },
  {
    method: 'POST',
    prefix: '/api/events/',
    message: 'Attendee checked in successfully',
    async run(request, id) {
      const { attendeeId } = await readJson(request);
      const [checkIn] = await run(insertCheckIn, { id, attendeeId, now: new Date() });
      return { attendeeId, ...checkIn };
    },
  },
  {
    method: 'POST',
    prefix: '/api/oauth/generate-auth-url?clientId=',
    message: 'Auth URL generated successfully',
    async run(request) {
      const clientId = request.url?.split('=')[1];
      const intentId = randomUUIDv7();
      const now = new Date();
      const expiresAt = new Date(now.getTime() + INTENT_MS);
      await run(insertIntent, { ...(await readJson(request)), clientId, intentId, now, expiresAt });
      return { authUrl: `${authPageUrl}?intent=${intentId}&client_id=${clientId}`, loginIntentId: intentId };
    },
  },
];

createServer(async (request, response) => {
  const { method, url = '' } = request;
  const route = ROUTES.find((each) => each.method === method && url.startsWith(each.prefix));
  if (!route) return void response.writeHead(404).end();
  const { message } = route;
  const data = await route.run(request, url.split('/')[3] ?? '');
  const json = JSON.stringify({ status: true, message, data });
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(json) });
  response.end(json);
}).listen(port, host);

function readJson(request: IncomingMessage): Promise<Record<string, unknown>> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('error', reject);
    request.on('end', () => resolve(JSON.parse(Buffer.concat(chunks).toString())));
  });
}
