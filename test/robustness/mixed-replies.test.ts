/** Thousands of calls that fail at once, each with values of its own: no reply contains those of another call. */
import { randomBytes } from 'node:crypto';
import type { DescMethodUnary } from '@bufbuild/protobuf';
import { afterAll, expect, test } from 'vitest';
import { AuthService } from '../../gen/usher/v1/auth_pb.ts';
import { EventService } from '../../gen/usher/v1/event_pb.ts';
import { WebhookService } from '../../gen/usher/v1/webhook_pb.ts';
import { generateApiKey } from '../../src/domain/applications/api-key.ts';
import type { HttpReply } from '../support/http.ts';
import { openHttp2Session, readReply } from '../support/http2-session.ts';
import { type Call, PROTOCOLS, type Protocol, send, supports, toRequest } from '../support/protocols.ts';
import {
  createTenant,
  createTestEvent,
  createTestWebhook,
  REDIRECT_URI,
  startTestService,
} from '../support/service.ts';
import { quickOrLong, report } from '../support/soak.ts';

const { generateAuthUrl, exchangeToken } = AuthService.method;
const { getWebhook, createWebhook } = WebhookService.method;
const { deleteEvent, createEvent, checkIn } = EventService.method;

const CALLS = quickOrLong(500, 10_000);
const STREAMS_PER_SESSION = 200;
const TIMEOUT_MS = 60_000;

const service = await startTestService({ config: { requestTimeoutMs: TIMEOUT_MS } });
const tenant = await createTenant(service);
const eventId = await createTestEvent(service, tenant);
const brokenWebhookId = (await createTestWebhook(service, tenant)).webhookId;
await service.database.sql`
  update webhooks set signing_key = signing_key || '\\x00'::bytea where id = ${brokenWebhookId}`;

afterAll(() => service.close());

/** Calls that fail, with the planted value wherever there is room for it, and the expected message. */
const FAILURES: readonly [DescMethodUnary, (planted: string) => Omit<Call, 'method'>, RegExp][] = [
  [generateAuthUrl, (p) => ({ fields: { clientId: p, redirectUri: REDIRECT_URI, state: p } }), /Client ID mismatch/],
  [
    generateAuthUrl,
    (p) => ({ fields: { clientId: tenant.clientId, redirectUri: `https://${p}.test`, state: p } }),
    /Invalid redirect URI/,
  ],
  [generateAuthUrl, (p) => ({ fields: { clientId: p, redirectUri: p, state: p.repeat(50) } }), /Validation failed/],
  [exchangeToken, (p) => ({ fields: { authToken: p } }), /Invalid or expired token/],
  [exchangeToken, (p) => ({ body: `{"authToken":"${p}` }), /Validation failed|larger than configured/],
  [getWebhook, (p) => ({ fields: { webhookId: p } }), /Invalid webhook ID format/],
  [getWebhook, (p) => ({ fields: { webhookId: `wh_${p.slice(-16)}${p.slice(-16)}` } }), /Webhook not found/],
  [getWebhook, (p) => ({ fields: { webhookId: brokenWebhookId }, headers: { cookie: p } }), /Internal error/],
  [getWebhook, (p) => ({ fields: { webhookId: p }, headers: { 'x-api-key': p } }), /Invalid API key/],
  [deleteEvent, (p) => ({ fields: { eventId: p } }), /Event not found/],
  [deleteEvent, (p) => ({ fields: { eventId: p }, headers: { 'x-api-key': generateApiKey() } }), /Invalid API key/],
  [createEvent, (p) => ({ fields: { eventId, name: p } }), /Event already exists/],
  [createEvent, (p) => ({ fields: { eventId: `${p}\n`, name: p } }), /Validation failed/],
  [createWebhook, (p) => ({ fields: { url: `https://${p}.test`, ownerId: p } }), /Validation failed/],
  [checkIn, (p) => ({ fields: { eventId: p, attendeeId: p } }), /Event not found/],
];

interface PlantedCall {
  readonly planted: string;
  readonly protocol: Protocol;
  readonly call: Call;
  readonly expected: RegExp;
}

test('no value of one call is in the reply to another', async (context) => {
  const calls = Array.from({ length: CALLS }, (_, at) => plantCall(at));
  const startedAt = performance.now();
  const replies = await sendAllAtOnce(calls);
  const tookMs = performance.now() - startedAt;
  const unanswered = replies.filter((reply) => !reply).length;
  const problems = calls.flatMap(({ planted, protocol, expected, call }, at) => {
    const reply = replies[at];
    if (!reply) return [];
    const { message } = protocol.read(reply);
    const found = new Set([...(textOf(reply).match(/planted-[0-9a-f]{16}/g) ?? []), planted]);
    const isRight = found.size === 1 && reply.headers['x-request-id'] === planted && expected.test(message);
    return isRight ? [] : [`${call.method.name} over ${protocol.name}: ${message}, with ${[...found]}`];
  });
  report(context, {
    tried: `${CALLS} failing calls at once over ${PROTOCOLS.length} protocols, each with values of its own`,
    lost: `${problems.length} replies`,
    figures: `${Math.round(tookMs)} ms, ${unanswered} connections lost before their reply`,
  });
  expect(problems).toEqual([]);
  expect(unanswered).toBeLessThan(CALLS / 20);
});

function plantCall(at: number): PlantedCall {
  const planted = `planted-${randomBytes(8).toString('hex')}`;
  // Over HTTP/1.1 each call has a connection of its own, of which a machine has a limited number.
  const protocols = PROTOCOLS.filter(({ httpVersion }) => httpVersion === (at % 10 === 0 ? '1.1' : '2'));
  const round = Math.floor(at / 10) + at;
  const protocol = protocols[round % protocols.length];
  const possible = FAILURES.filter(([method]) => protocol && supports(protocol, method));
  const [method, plant, expected] = possible[Math.floor(round / protocols.length) % possible.length] ?? [];
  if (!protocol || !method || !plant || !expected) throw new Error('No protocol or no failure');
  const { headers, ...rest } = plant(planted);
  const own = {
    'x-api-key': tenant.apiKey,
    'x-request-id': planted,
    'user-agent': planted,
    'x-forwarded-for': planted,
  };
  return { planted, protocol, expected, call: { method, ...rest, headers: { ...own, ...headers } } };
}

async function sendAllAtOnce(calls: readonly PlantedCall[]): Promise<(HttpReply | undefined)[]> {
  const overHttp2 = calls.filter(({ protocol }) => protocol.httpVersion === '2').length;
  const sessions = Array.from({ length: Math.ceil(overHttp2 / STREAMS_PER_SESSION) }, () =>
    openHttp2Session(service.url),
  );
  let next = 0;
  const replies = await Promise.all(
    calls.map(async ({ protocol, call }) => {
      // The event loop of the test, which is the service's too, may be too slow to accept a connection in time.
      if (protocol.httpVersion === '1.1') return send(protocol, service.url, call).catch(() => undefined);
      const { method, path, headers, body } = toRequest(protocol, call);
      const stream = sessions[next++ % sessions.length]?.open({ ':method': method, ':path': path, ...headers });
      if (!stream) throw new Error('No session');
      stream.end(body);
      return readReply(stream, { timeoutMs: TIMEOUT_MS });
    }),
  );
  for (const session of sessions) session[Symbol.dispose]();
  return replies;
}

/** Returns all text in a reply, and what its base64 decodes to. */
function textOf({ headers, bytes, trailers }: HttpReply): string {
  const plain = JSON.stringify([headers, trailers]) + bytes.toString('latin1');
  const encoded = plain.match(/[A-Za-z0-9+/_-]{16,}/g) ?? [];
  return [plain, ...encoded.map((text) => Buffer.from(text, 'base64').toString('latin1'))].join('\n');
}
