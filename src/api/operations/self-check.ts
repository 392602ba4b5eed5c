/**
 * How Usher sees a request of `node src/start.js check`, which finds out so where `PUBLIC_URL` leads. Only who has the
 * encryption key can ask, and read the answer. Others get the answer of a path that does not exist.
 */

import { openToken, sealToken } from '../../domain/crypto/aes-gcm.ts';
import { deriveKeys } from '../../domain/crypto/derived-keys.ts';
import { parseObject } from '../../encoding/json.ts';
import type { HttpError } from '../../http/errors.ts';
import { headerOf, readBody, sendJson } from '../../http/exchange.ts';
import type { HttpContext } from '../../http/http-context.ts';
import type { HttpRoute } from '../../http/route-table.ts';
import { MAX_MESSAGE_BYTES } from '../call-info.ts';
import { sendError, sendFailure } from '../envelope.ts';

export const SELF_CHECK_PATH = '/self-check';
/** The header of the question. */
export const SELF_CHECK_HEADER = 'x-usher-check';

/** How long a question can be asked, by clocks that differ a little. */
const LIFETIME_MS = 60_000;
const BODY_MS = 5_000;

/** What Usher has seen of the request. */
export interface SelfCheckAnswer {
  readonly nonce: string;
  readonly bodyBytes: number;
  readonly clientAddress: string;
  readonly forwardedFor?: string | undefined;
  readonly forwardedProto?: string | undefined;
  readonly host?: string | undefined;
  readonly isFromTrustedProxy: boolean;
  readonly remoteAddress?: string | undefined;
  readonly remotePort?: number | undefined;
}

const keysOf = (encryptionKeys: readonly Buffer[]) => deriveKeys(encryptionKeys, 'self-check');

export function createSelfCheckRoute({
  clock,
  secrets,
}: {
  readonly clock: () => Date;
  readonly secrets: { readonly encryptionKeys: readonly Buffer[] };
}): HttpRoute {
  const keys = keysOf(secrets.encryptionKeys);
  return {
    method: 'POST',
    path: SELF_CHECK_PATH,
    async run(context) {
      const question = parseObject(openToken(keys, headerOf(context, SELF_CHECK_HEADER) ?? '', 'question') ?? '');
      const { at, nonce } = question ?? {};
      const isFresh = Math.abs(clock().getTime() - Number(at)) < LIFETIME_MS;
      if (!isFresh) return sendFailure(context, 'NOT_FOUND');
      const body = await readBody(context.request, MAX_MESSAGE_BYTES, performance.now() + BODY_MS).catch(
        (error: HttpError) => error,
      );
      if (body instanceof Error) return sendError(context, body);
      const answer = JSON.stringify({ ...describeRequest(context), nonce, bodyBytes: body.length });
      sendJson(context, 200, JSON.stringify({ answer: sealToken(keys, answer, 'answer') }));
    },
  };
}

function describeRequest(context: HttpContext): Omit<SelfCheckAnswer, 'nonce' | 'bodyBytes'> {
  const { clientAddress, headers, request } = context;
  const { remoteAddress, remotePort } = request.socket;
  return {
    clientAddress,
    forwardedFor: headerOf(context, 'x-forwarded-for'),
    forwardedProto: headerOf(context, 'x-forwarded-proto'),
    host: String(headers[':authority'] ?? headers.host),
    isFromTrustedProxy: context.isFromTrustedProxy(),
    remoteAddress,
    remotePort,
  };
}

/** Returns the value of the header that asks. */
export function createQuestion(encryptionKeys: readonly Buffer[], nonce: string, at: number): string {
  return sealToken(keysOf(encryptionKeys), JSON.stringify({ at, nonce }), 'question');
}

/** Returns the answer to the question with the nonce. Undefined: it is not of a replica with the same keys. */
export function readAnswer(
  encryptionKeys: readonly Buffer[],
  nonce: string,
  body: string,
): SelfCheckAnswer | undefined {
  const { answer } = parseObject(body) ?? {};
  const text = typeof answer === 'string' ? openToken(keysOf(encryptionKeys), answer, 'answer') : undefined;
  const facts = parseObject(text ?? '');
  return facts?.nonce === nonce ? (facts as unknown as SelfCheckAnswer) : undefined;
}
