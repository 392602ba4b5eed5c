/** Sends requests to the running Usher, at `PUBLIC_URL` and on this machine. */
import { randomUUID } from 'node:crypto';
import http from 'node:http';
import https from 'node:https';
import { text } from 'node:stream/consumers';
import {
  createQuestion,
  readAnswer,
  SELF_CHECK_HEADER,
  SELF_CHECK_PATH,
  type SelfCheckAnswer,
} from '../api/operations/self-check.ts';

const TIMEOUT_MS = 10_000;
const MAX_ANSWER_BYTES = 1_048_576;

export interface Target {
  readonly url: string;
  /** On this machine: its certificate names the public host, so it is not verified. */
  readonly isLocal: boolean;
}

interface Sent {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Buffer;
}

interface Reply {
  readonly status: number;
  readonly location: string | undefined;
  readonly body: string;
  readonly localPort: number | undefined;
}

/** @throws Error of the network */
export async function sendRequest({ url, isLocal }: Target, path: string, sent: Sent = {}): Promise<Reply> {
  const target = new URL(`${url.replace(/\/$/, '')}${path}`);
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  const options = { agent: false, method: sent.method, headers: sent.headers, rejectUnauthorized: !isLocal, signal };
  const request = target.protocol === 'https:' ? https.request(target, options) : http.request(target, options);
  const { promise, resolve, reject } = Promise.withResolvers<http.IncomingMessage>();
  request.on('response', resolve).on('error', reject).end(sent.body);
  try {
    const response = await promise;
    const { localPort } = request.socket ?? {};
    const body = await text(response.take(MAX_ANSWER_BYTES));
    return { status: response.statusCode ?? 0, location: response.headers.location, body, localPort };
  } finally {
    request.destroy();
  }
}

export interface Asked {
  readonly answer: SelfCheckAnswer;
  /** The port of this end of the connection. If Usher has seen the same, nothing stands between. */
  readonly localPort: number | undefined;
}

/** Asks how Usher sees a request. @throws Error of one line if no replica with these keys answers */
export async function askUsher(
  target: Target,
  encryptionKeys: readonly Buffer[],
  { headers, body }: Pick<Sent, 'headers' | 'body'> = {},
): Promise<Asked> {
  const nonce = randomUUID();
  const question = { [SELF_CHECK_HEADER]: createQuestion(encryptionKeys, nonce, Date.now()) };
  const length = { 'content-length': String(body?.length ?? 0) };
  const sent = { method: 'POST', headers: { ...length, ...question, ...headers }, ...(body && { body }) };
  const { status, location, body: reply, localPort } = await sendRequest(target, SELF_CHECK_PATH, sent);
  const answer = status === 200 ? readAnswer(encryptionKeys, nonce, reply) : undefined;
  if (answer) return { answer, localPort };
  throw new UnprovenError(status, location);
}

/** Something else than a replica with the same keys has answered. */
export class UnprovenError extends Error {
  constructor(status: number, location: string | undefined) {
    super(
      location === undefined
        ? `it answers ${status}, and not as a replica with this ENCRYPTION_KEY_FILE`
        : `it redirects to ${location}`,
    );
  }
}

/** Returns the reason in a few words. */
export function describeReason(error: unknown): string {
  const { code, errors, message, name } = Object(error);
  if (name === 'TimeoutError' || name === 'AbortError') return `no answer in ${TIMEOUT_MS / 1_000} s`;
  if (Array.isArray(errors)) return describeReason(errors[0]);
  return String(message || code || error);
}
