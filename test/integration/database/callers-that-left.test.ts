/** A call whose caller has left before its first write has no effect, over every protocol. */

import { create, toBinary } from '@bufbuild/protobuf';
import { afterAll, afterEach, expect, test } from 'vitest';
import { CreateEventRequestSchema } from '../../../gen/usher/v1/event_pb.ts';
import { TcpProxy } from '../../../src/testing/tcp-proxy.ts';
import { request } from '../../support/http.ts';
import { openHttp2Session } from '../../support/http2-session.ts';
import { createRsaJwk } from '../../support/oidc.ts';
import { createOidcTenant, createVerifier, redeem, refresh, signInForCode } from '../../support/oidc-client.ts';
import { frame } from '../../support/protocols.ts';
import { RawConnection } from '../../support/raw-connection.ts';
import { RecordedLog } from '../../support/recorded-log.ts';
import { clientsOf, createTestUser, startTestService } from '../../support/service.ts';

const CALLS = 6;

const first = await startTestService({ oidcSigningKeys: [createRsaJwk()] });
const { database } = first;
const proxy = await TcpProxy.open(database.url);
afterAll(async () => {
  await first.close();
  await proxy[Symbol.asyncDispose]();
});
const tenant = await createOidcTenant(first, { publicClient: true });

type Service = Awaited<ReturnType<typeof startTestService>>;
/** Sends a request, and returns how the caller leaves. */
type Door = (service: Service, eventId: string) => Promise<() => void>;

const overHttp1 = async ({ port }: Service, path: string, headers: string, body: string) => {
  const connection = await RawConnection.open(port);
  const head = `POST ${path} HTTP/1.1\r\nHost: localhost\r\n${headers}\r\nContent-Length: ${body.length}\r\n\r\n`;
  connection.send(head + body);
  return () => connection[Symbol.dispose]();
};
const overHttp2 = async ({ url }: Service, contentType: string, body: string | Uint8Array) => {
  const client = openHttp2Session(url);
  const path = '/usher.v1.EventService/CreateEvent';
  const headers = { ':method': 'POST', ':path': path, 'content-type': contentType, 'x-api-key': tenant.apiKey };
  const stream = client.open({ ...headers, te: 'trailers' });
  stream.end(body);
  await client.exchange({ ':path': '/healthz' });
  return () => client[Symbol.dispose]();
};

const KEY = `X-API-Key: ${tenant.apiKey}\r\nContent-Type: application/json`;
const DOORS: Readonly<Record<string, Door>> = {
  REST: (service, eventId) => overHttp1(service, '/api/events', KEY, JSON.stringify({ eventId })),
  Connect: (service, eventId) => overHttp2(service, 'application/json', JSON.stringify({ eventId })),
  gRPC: (service, eventId) => {
    const message = toBinary(CreateEventRequestSchema, create(CreateEventRequestSchema, { eventId }));
    return overHttp2(service, 'application/grpc', frame(message));
  },
};

/** Starts a service that has few connections to Postgres yet, and whose network then is frozen. */
async function startFrozen() {
  const log = new RecordedLog();
  const service = await log.start({
    database,
    like: first.config,
    config: { databaseUrl: proxy.through(database.url), databaseConnections: 8, requestTimeoutMs: 60_000 },
  });
  await clientsOf(service, tenant).events.listEvents({});
  await proxy.setMode('freeze');
  const leave = async (closes: readonly (() => void)[]) => {
    expect((await request(service.url, { path: '/healthz' })).status).toBe(200);
    for (const close of closes) close();
    const left = () => log.callLines.filter(({ code }) => code === 'canceled').length;
    await expect.poll(left).toBe(closes.length);
    await proxy.setMode('pass');
  };
  return { service, leave };
}

afterEach(() => proxy.setMode('pass'));

test.each(Object.entries(DOORS))('%s calls write nothing that waits when their callers leave', async (name, send) => {
  const { service, leave } = await startFrozen();
  const { accepted } = proxy;
  const closes = await Promise.all(Array.from({ length: CALLS }, (_, count) => send(service, `${name} ${count}`)));
  await leave(closes);
  // A call that has to open a connection to Postgres waits. The others were sent before their callers left.
  const waiting = proxy.accepted - accepted;
  expect(waiting).toBeGreaterThan(0);
  // Postgres has run all that was sent.
  await service.close();
  const events = await database.sql`select id from events where id like ${`${name} %`}`;
  expect(events.length).toBeLessThanOrEqual(CALLS - waiting);
});

test('a late refresh whose caller has left does not end the sign-in', async () => {
  const verifier = createVerifier();
  const code = await signInForCode(first, tenant, await createTestUser(first), { verifier });
  const { body } = await redeem(first, tenant, code, { verifier, isPublic: true });
  const next = async (token: string | undefined) => refresh(first, tenant, token, { isPublic: true });
  const { service, leave } = await startFrozen();
  const form = new URLSearchParams({
    grant_type: 'refresh_token',
    client_id: tenant.clientId,
    refresh_token: body.refresh_token ?? '',
  });
  const type = 'Content-Type: application/x-www-form-urlencoded';
  const close = await overHttp1(service, '/oidc/token', type, form.toString());
  const third = await next((await next(body.refresh_token)).body.refresh_token);
  await leave([close]);
  await service.close();
  expect(await next(third.body.refresh_token)).toMatchObject({ status: 200 });
});
