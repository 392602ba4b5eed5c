/** A mix of calls over REST and gRPC. Most of them succeed, and some are refused. */
import { AuthService } from '../../../../gen/usher/v1/auth_pb.ts';
import { WebhookService } from '../../../../gen/usher/v1/webhook_pb.ts';
import { generateApiKey } from '../../../../src/domain/applications/api-key.ts';
import { findCall } from '../calls.ts';
import type { Fixtures } from '../fixtures.ts';
import { type PreparedRequest, prepareRequests } from '../load/prepare-requests.ts';
import { grpc, type Protocol, rest, type WireReply, type WireRequest } from '../protocols.ts';

/** The shares are of twenty requests. */
const CALLS: readonly (readonly [share: number, name: string, protocol: Protocol])[] = [
  [6, 'GetWebhook', rest],
  [4, 'GetWebhook', grpc],
  [2, 'ExchangeToken again', rest],
  [1, 'ExchangeToken again', grpc],
  [1, 'GenerateAuthUrl', rest],
  [1, 'GenerateAuthUrl', grpc],
  [1, 'CheckIn', grpc],
];
const REFUSALS = [refuseKey, refuseWebhook, refuseState, refuseToken];
const CYCLE = CALLS.reduce((sum, [share]) => sum + share, REFUSALS.length);

/** Encodes `count` requests, a multiple of twenty. Requests that cannot be repeated differ for each `number`. */
export function prepareMixed(fixtures: Fixtures, { count, number }: { count: number; number: number }) {
  const headers = { 'x-api-key': fixtures.apiKey, 'user-agent': 'usher-bench' };
  const cycles = count / CYCLE;
  const good = CALLS.map(([share, name, protocol]) => {
    const requests = prepareRequests(protocol, findCall(fixtures, name), {
      count: share * cycles,
      firstNumber: number * count,
      headers,
    });
    return { share, requests };
  });
  return Array.from({ length: cycles }, (_, cycle) => [
    ...good.flatMap(({ share, requests }) => requests.slice(cycle * share, (cycle + 1) * share)),
    ...REFUSALS.map((refuse) => refuse(fixtures, headers)),
  ]).flat();
}

type Headers = Record<string, string>;

/** A well-formed key of nobody. Each is different, because the server caches them. */
function refuseKey(_: Fixtures, headers: Headers): PreparedRequest {
  const wire = rest.encode(WebhookService.method.getWebhook, { webhookId: `wh_${'0'.repeat(32)}` });
  return expectReply(wire, { ...headers, 'x-api-key': generateApiKey() }, ({ status }) => status === 401);
}

function refuseWebhook(_: Fixtures, headers: Headers): PreparedRequest {
  const wire = grpc.encode(WebhookService.method.getWebhook, { webhookId: `wh_${'f'.repeat(32)}` });
  return expectReply(wire, headers, ({ grpcStatus }) => grpcStatus === '5');
}

function refuseState({ application: { clientId } }: Fixtures, headers: Headers): PreparedRequest {
  const fields = { clientId, redirectUri: 'https://app.example/callback', state: 'x'.repeat(501) };
  const wire = rest.encode(AuthService.method.generateAuthUrl, fields);
  return expectReply(wire, headers, ({ status }) => status === 400);
}

function refuseToken(_: Fixtures, headers: Headers): PreparedRequest {
  const wire = rest.encode(AuthService.method.exchangeToken, { authToken: 'e30.e30.e30' });
  return expectReply(wire, headers, ({ status }) => status === 401);
}

function expectReply(wire: WireRequest, headers: Headers, isFine: (reply: WireReply) => boolean): PreparedRequest {
  return {
    wire: { ...wire, headers: { ...wire.headers, ...headers } },
    check(reply) {
      if (!isFine(reply)) throw new Error(`${wire.path}: ${reply.status} ${reply.grpcStatus} ${reply.body}`);
    },
  };
}
