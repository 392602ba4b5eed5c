/** Sends texts that change only with the version of Usher. Each is compressed once, at its first request. */
import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import { acceptsCoding } from '../encoding/accepts-coding.ts';
import { CACHED_BRIEFLY, headerOf, send } from '../http/exchange.ts';
import type { HttpContext } from '../http/http-context.ts';

export interface StaticText {
  readonly text: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** Returns a function that sends the text, or 304 if the client has it. Calls `load` again only if it has failed. */
export function createTextEndpoint(load: () => Promise<StaticText>): (context: HttpContext) => Promise<void> {
  let encoded: ReturnType<typeof encode> | undefined;
  return async (context) => {
    encoded ??= encode(load).catch((error) => {
      encoded = undefined;
      throw error;
    });
    const { etag, headers, bodies } = await encoded;
    const vary = [context.response.getHeader('vary'), 'accept-encoding'].filter(Boolean).join(', ');
    const common = { ...CACHED_BRIEFLY, etag, vary };
    if (matches(headerOf(context, 'if-none-match'), etag)) return send(context, 304, '', common);
    const coding = chooseCoding(headerOf(context, 'accept-encoding') ?? '');
    const encoding = coding !== 'identity' && { 'content-encoding': coding };
    send(context, 200, bodies[coding], { ...common, ...headers, ...encoding });
  };
}

async function encode(load: () => Promise<StaticText>) {
  const { text, headers } = await load();
  const identity = Buffer.from(text);
  const [br, zipped] = await Promise.all([
    // Quality 11 takes ten times as long, and saves a tenth of the bytes.
    promisify(brotliCompress)(identity, { params: { [constants.BROTLI_PARAM_QUALITY]: 9 } }),
    promisify(gzip)(identity),
  ]);
  // Weak, because all encodings of the text have the same tag.
  const etag = `W/"${createHash('sha256').update(identity).digest('base64url').slice(0, 22)}"`;
  return { etag, headers, bodies: { br, gzip: zipped, identity } };
}

function matches(ifNoneMatch: string | undefined, etag: string): boolean {
  const tags = (ifNoneMatch ?? '').split(',').map((tag) => tag.trim());
  return tags.some((tag) => tag === '*' || tag === etag || `W/${tag}` === etag);
}

function chooseCoding(acceptEncoding: string): 'br' | 'gzip' | 'identity' {
  if (acceptsCoding(acceptEncoding, 'br')) return 'br';
  return acceptsCoding(acceptEncoding, 'gzip') ? 'gzip' : 'identity';
}
