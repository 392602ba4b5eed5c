/** Many generated requests: every reply is documented, and the service stays up. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { ERRORS } from '../../src/domain/core/errors.ts';
import { type HostileRequest, hostileRequests } from '../support/hostile-requests.ts';
import { type HttpClient, type HttpVersion, openHttpClient } from '../support/http.ts';
import { LOGIN_CONFIG } from '../support/login-browser.ts';
import { decodeBase64, protocolNamed, type RawReply } from '../support/protocols.ts';
import { RecordedLog } from '../support/recorded-log.ts';
import { startTestService } from '../support/service.ts';
import { quickOrLong, report } from '../support/soak.ts';

const REQUESTS = quickOrLong(800, 200_000);
/** Set HOSTILE_SEED to the seed that a failure names to send the same requests again. */
const SEED = Number(process.env.HOSTILE_SEED ?? quickOrLong(1, Date.now() % 1e9));
/** How many requests are generated at a time, and then sent over one connection. */
const CHUNK = quickOrLong(50, 100);
const MAX_FAULTS = 10;
const CONNECTIONS: readonly HttpVersion[] = [...Array<'1.1'>(12).fill('1.1'), ...Array<'2'>(4).fill('2')];

it(`answers ${REQUESTS} hostile requests as documented, and each connection then serves or is closed`, async (context) => {
  // An uncaught exception fails the test as well, since the service runs in its process.
  const { lines: problems, logger } = new RecordedLog('error');
  const config = { ...LOGIN_CONFIG, loginMethods: ['wallet', 'email', 'passkey'] as const };
  await using service = await startTestService({ logger, sendMail: async () => {}, config });
  const requests = await hostileRequests(service);
  const startedAt = performance.now();
  const replies: Record<string, number> = {};
  let drawn = 0;
  const sendChunks = async (httpVersion: HttpVersion) => {
    while (drawn < REQUESTS && problems.length < MAX_FAULTS) {
      const seed = SEED + drawn;
      drawn += CHUNK;
      using client = openHttpClient(service.url, { httpVersion });
      await expectHealthy(client);
      for (const request of fc.sample(requests, { seed, numRuns: CHUNK })) {
        try {
          const status = await send(client, request);
          replies[status] = (replies[status] ?? 0) + 1;
        } catch (error) {
          problems.push(`${error} to ${describeRequest(request)} over HTTP/${httpVersion}`);
        }
      }
    }
  };
  await Promise.all(CONNECTIONS.map(sendChunks));

  report(context, {
    tried: `${REQUESTS} hostile requests with the seed ${SEED}`,
    lost: `${problems.length} wrong replies`,
    figures: `${JSON.stringify(replies)}, ${Math.round((performance.now() - startedAt) / 1_000)} s`,
  });
  expect(problems, `with HOSTILE_SEED=${SEED}`).toEqual([]);
}, 1_800_000);

/** Sends the request and then another one. Throws if something is wrong with either reply. */
async function send(client: HttpClient, request: HostileRequest): Promise<number | 'reset'> {
  const length = request.body.length > 0 ? { 'content-length': String(request.body.length) } : {};
  const reply = await client
    .send({ ...request, headers: { ...request.headers, ...length }, body: request.body })
    .catch((error) => {
      // HTTP/2 resets streams that it forbids.
      if (!/NGHTTP2_PROTOCOL_ERROR|code 1\b/.test(`${error}`)) throw error;
    });
  const fault = reply && faultOf(request, reply);
  if (fault) throw new Error(fault);
  await expectHealthy(client);
  return reply?.status ?? 'reset';
}

async function expectHealthy(client: HttpClient): Promise<void> {
  expect((await client.send({ path: '/healthz' })).body).toBe('{"status":"ok"}');
}

function describeRequest({ body, ...head }: HostileRequest): string {
  const shown = JSON.stringify(head).replace(/(.)\1{99,}/g, '$1...');
  return `${shown.slice(0, 2_000)} with ${body.length} bytes: ${JSON.stringify(body.toString('latin1', 0, 200))}`;
}

// Says what is wrong with the reply to a hostile request.

/** Codes that blame the service. */
const FAULTS = new Set(['internal', 'unknown', 'unavailable', 'data_loss']);

/** Returns undefined if nothing is wrong. */
function faultOf(asked: HostileRequest, reply: RawReply): string | undefined {
  const fault = faultOfHead(asked, reply) ?? faultOfShape(asked, reply);
  const head = JSON.stringify({ ...reply.headers, ...reply.trailers });
  return fault && `${fault}: ${reply.status} ${head} ${reply.bytes.toString('latin1', 0, 300)}`;
}

function faultOfHead(asked: HostileRequest, { status, headers, bytes }: RawReply): string | undefined {
  // Connect has 501 and 505. A 504 is right if the caller set a timeout.
  const mayTimeOut = Object.keys(asked.headers).some((name) => name.includes('timeout'));
  const allowed = asked.kind === 'rpc' ? [501, 505, ...(mayTimeOut ? [504] : [])] : [];
  if (status >= 500 && !allowed.includes(status)) return 'server error';
  if (!/^[\w.:+/=-]{1,128}$/.test(headers['x-request-id'] ?? '')) return 'no request ID';
  return bytes.includes('Internal error') ? 'internal error' : undefined;
}

function faultOfShape({ kind, path }: HostileRequest, reply: RawReply): string | undefined {
  const { 'content-type': contentType = '', location } = reply.headers;
  if (kind === 'rpc' && contentType.startsWith('application/grpc')) return faultOfGrpc(contentType, reply);
  if (kind === 'rpc' && reply.status === 200) return undefined;
  if (kind === 'login' && reply.status === 303 && location) return undefined;
  // To `if-none-match: *`.
  if (path.split('?')[0] === '/' && reply.status === 304 && reply.bytes.length === 0) return undefined;
  if (
    (kind === 'login' || path.split('?')[0] === '/') &&
    contentType.startsWith('text/html') &&
    reply.bytes.toString().startsWith('<!doctype html>')
  )
    return undefined;
  if (contentType !== 'application/json') return 'unexpected content type';
  try {
    const json = JSON.parse(reply.bytes.toString());
    return SHAPES[kind].some((isShape) => isShape(json, reply.status)) ? undefined : 'undocumented shape';
  } catch {
    return 'malformed JSON';
  }
}

function faultOfGrpc(contentType: string, reply: RawReply): string | undefined {
  const protocol = protocolNamed(
    contentType.startsWith('application/grpc-web') ? 'gRPC-Web over HTTP/1.1' : 'gRPC over HTTP/2',
  );
  try {
    const isText = contentType.startsWith('application/grpc-web-text');
    const bytes = isText ? decodeBase64(reply.bytes.toString()) : reply.bytes;
    const { code, message } = protocol.read({ ...reply, bytes });
    // gRPC demands this code of a client's mistake.
    if (message === ERRORS.COMPRESSED_WITHOUT_ENCODING[1]) return undefined;
    return FAULTS.has(code) ? `code ${code}` : undefined;
  } catch (error) {
    return `no gRPC status (${String(error).slice(0, 100)})`;
  }
}

type IsShape = (json: Record<string, unknown>, status: number) => boolean;

const isEnvelope: IsShape = (json, status) =>
  json.status === (status === 200 || status === 201) && typeof json.message === 'string' && json.message !== '';
const isConnectError: IsShape = ({ code }) => typeof code === 'string' && !FAULTS.has(code);
const isStatus: IsShape = ({ status }) => status === 'ok' || status === 'ready';
const isKeySet: IsShape = ({ keys }) => Array.isArray(keys);
const isScriptReply: IsShape = ({ error, message, redirectUrl }) =>
  [error, message, redirectUrl].some((text) => typeof text === 'string');

const SHAPES: Record<HostileRequest['kind'], readonly IsShape[]> = {
  rest: [isEnvelope],
  rpc: [isConnectError, isEnvelope],
  operations: [isStatus, isKeySet, isEnvelope],
  login: [isScriptReply, isEnvelope],
  nothing: [isEnvelope, isConnectError, isStatus, isKeySet],
};
