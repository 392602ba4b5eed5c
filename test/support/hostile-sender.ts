/** Sends hostile requests and checks every reply, and that the connection then serves or is closed. */
import type { Header, HostileRequest } from './hostile-requests.ts';
import { faultOf, type SeenReply } from './hostile-verdict.ts';
import { type Http2Session, openHttp2Session } from './http2-session.ts';
import { RawConnection, type RawReply } from './raw-connection.ts';

export interface Ending {
  /** `reset` if HTTP/2 itself refused the request. */
  readonly status: number | 'reset';
  readonly wasClosed: boolean;
}

export interface HostileSender extends Disposable {
  /** Rejects if something is wrong with the reply, or with the connection after it. */
  send(request: HostileRequest): Promise<Ending>;
}

const HEALTH_BODY = '{"status":"ok"}';
const HEALTH_CALL = 'GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n';
/** The rest of a body that is longer than declared may look like this many requests. */
const MAX_REMAINDERS = 4;

export function createHttp1Sender(url: string): HostileSender {
  const port = Number(new URL(url).port);
  let connection: RawConnection | undefined;
  return {
    async send(request) {
      const current = connection ?? (await RawConnection.open(port));
      connection = undefined;
      current.send(toHttp1(request));
      if (request.framing === 'short') current.socket.end();
      const reply = await finalReply(current, request.method);
      requireValid(request, reply);
      const wasClosed = await isClosedAfter(current, request, reply);
      if (wasClosed) current[Symbol.dispose]();
      else connection = current;
      return { status: reply.status, wasClosed };
    },
    [Symbol.dispose]: () => connection?.[Symbol.dispose](),
  };
}

export function createHttp2Sender(url: string): HostileSender {
  let client: Http2Session | undefined;
  return {
    async send(request) {
      if (!client || client.session.closed || client.session.destroyed) client = openHttp2Session(url);
      const { session, exchange } = client;
      const body = request.body.length > 0 ? request.body : undefined;
      const reply = await exchange(toHttp2Headers(request), body).catch((error) => requireReset(request, error));
      if (reply === 'refused') {
        client[Symbol.dispose]();
        client = undefined;
        return this.send(request);
      }
      if (reply) requireValid(request, reply);
      const wasClosed = session.closed || session.destroyed;
      if (!wasClosed) {
        const health = await exchange({ ':path': '/healthz' }).catch((error) => {
          if (!isRefused(error)) throw error;
          client?.[Symbol.dispose]();
          client = undefined;
        });
        if (health && health.body !== HEALTH_BODY) throw new Error(`not healthy: ${JSON.stringify(health)}`);
      }
      return { status: reply?.status ?? 'reset', wasClosed: wasClosed || !client };
    },
    [Symbol.dispose]: () => client?.[Symbol.dispose](),
  };
}

function requireValid(request: HostileRequest, reply: SeenReply): void {
  const fault = faultOf(request, reply);
  if (fault) throw new Error(fault);
}

/** HTTP/2 resets streams that it forbids, and ends the session if a length is wrong. Other errors are faults. */
function requireReset({ framing }: HostileRequest, error: Error): 'refused' | undefined {
  if (isRefused(error)) return 'refused';
  const isOfLength = framing === 'short' || framing === 'long';
  if (!isOfLength && !/NGHTTP2_PROTOCOL_ERROR|code 1\b/.test(`${error}`)) throw error;
  return undefined;
}

/** Returns whether the server was ending the session and so has not handled the request. */
function isRefused(error: Error): boolean {
  return /NGHTTP2_REFUSED_STREAM/.test(`${error}`);
}

async function finalReply(connection: RawConnection, method: string): Promise<RawReply> {
  for (;;) {
    const reply = await connection.reply({ to: method });
    if (reply.status >= 200) return reply;
  }
}

/** Returns whether the server has closed the connection cleanly. Rejects if it is open but does not serve. */
async function isClosedAfter(connection: RawConnection, request: HostileRequest, reply: RawReply): Promise<boolean> {
  const isLast = reply.headers.connection === 'close';
  // A request that cannot be parsed gets a body, even if its method was HEAD.
  if (isLast && request.method === 'HEAD') return true;
  if (isLast && request.framing !== 'short') {
    await connection.ended();
    return true;
  }
  if (request.framing !== 'short') connection.send(HEALTH_CALL);
  // The rest of a body that is longer than declared is a malformed request, which may close the connection.
  const endings = request.framing === 'long' || request.framing === 'none' ? ['closed', 'reset'] : ['closed'];
  for (let count = 0; count < MAX_REMAINDERS; count++) {
    const next = await connection.reply().catch((error) => {
      if (!endings.includes(connection.ending ?? '')) throw error;
    });
    if (!next) return true;
    if (next.status === 200 && next.body === HEALTH_BODY) return false;
    const fault = faultOf({ kind: 'nothing', method: 'GET', headers: [] }, next);
    if (fault) throw new Error(`afterwards: ${fault}`);
  }
  throw new Error('the connection does not serve afterwards');
}

function toHttp1({ method, target, headers, body, framing }: HostileRequest): Buffer {
  const lines = [
    `${method} ${target} HTTP/1.1`,
    'Host: localhost',
    ...headers.map(([name, value]) => `${name}: ${value}`),
  ];
  const chunks = framing === 'chunked' || framing === 'both' ? inChunks(body) : [body];
  if (framing !== 'none' && framing !== 'chunked')
    lines.push(`Content-Length: ${declaredLength(framing, body.length)}`);
  if (framing === 'twice') lines.push(`Content-Length: ${body.length + 1}`);
  if (framing === 'chunked' || framing === 'both') lines.push('Transfer-Encoding: chunked');
  return Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1'), ...chunks]);
}

function declaredLength(framing: HostileRequest['framing'], length: number): number {
  if (framing === 'short') return length + 10;
  return framing === 'long' ? Math.max(0, length - 3) : length;
}

function inChunks(body: Buffer): Buffer[] {
  const half = body.length >> 1;
  const parts = [body.subarray(0, half), body.subarray(half)].filter(({ length }) => length > 0);
  return [
    ...parts.flatMap((part) => [Buffer.from(`${part.length.toString(16)}\r\n`), part, Buffer.from('\r\n')]),
    Buffer.from('0\r\n\r\n'),
  ];
}

/** Headers that our HTTP/2 client does not send. */
const HTTP1_ONLY = new Set(['connection', 'upgrade', 'transfer-encoding', 'keep-alive', 'expect']);
/** Headers that our HTTP/2 client can send twice. */
const REPEATABLE = new Set(['x-api-key', 'x-request-id', 'cookie', 'x-forwarded-for']);

function toHttp2Headers({ method, target, headers, body, framing }: HostileRequest): Record<string, string> {
  const known = new Map<string, string | string[]>();
  for (const [name, value] of headers.filter(isForHttp2)) {
    const before = known.get(name);
    known.set(name, before !== undefined && REPEATABLE.has(name) ? [before, value].flat() : value);
  }
  if (framing === 'short' || framing === 'long')
    known.set('content-length', String(declaredLength(framing, body.length)));
  // Node also takes lists, for headers that are sent more than once.
  return Object.fromEntries([[':method', method], [':path', target || '/'], ...known]) as Record<string, string>;
}

function isForHttp2([name]: Header): boolean {
  return !HTTP1_ONLY.has(name) && name === name.toLowerCase();
}
