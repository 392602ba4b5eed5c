/** Fetches the metadata of a client, to any address that its URL names: under the rules for webhooks, and within limits. */
import type { IncomingHttpHeaders } from 'node:http';
import { VERSION } from '../../../config/version.ts';
import { createResolve, type Resolve } from '../../../delivery/address-lookup.ts';
import { Sender } from '../../../delivery/attempt.ts';
import { isRegistrable } from '../../../domain/applications/redirect-uri.ts';
import { AddressPolicy } from '../../../domain/webhooks/address-policy.ts';
import { parseObject } from '../../../encoding/json.ts';
import type { HostMatch } from './client-url.ts';

/** From the look-up of the host to the last byte. */
const TIMEOUT_MS = 5_000;
const MAX_BYTES = 16_384;
/** How long a document is kept, whatever its headers say. */
const [SHORTEST_MS, LONGEST_MS] = [5 * 60_000, 24 * 60 * 60_000];
/** The statuses by which a server says that there is no such document any more. */
const WITHDRAWN: ReadonlySet<number> = new Set([404, 410]);
const HEADERS = {
  accept: 'application/json',
  // A small answer could unpack to a large one.
  'accept-encoding': 'identity',
  'user-agent': `Usher-Clients/${VERSION}`,
};

interface FetchedDocument {
  readonly document: ClientDocument;
  /** Zero for `no-store`. */
  readonly keptMs: number;
}

interface RefusedDocument {
  /** For the log: why there is no usable document. */
  readonly problem: string;
  /** Whether the server has withdrawn the document, or serves one that is not usable. Else it may serve it later. */
  readonly isGone: boolean;
}

export type FetchDocument = (clientId: string, match: HostMatch) => Promise<FetchedDocument | RefusedDocument>;

interface FetchOptions {
  /** The rules for webhooks. */
  readonly policy: AddressPolicy;
  readonly proxyUrl: string | undefined;
  readonly resolve?: Resolve;
}

/** A wildcard names no host, so it opens no internal address. */
export function createFetchDocument({ policy: own, proxyUrl, resolve = createResolve() }: FetchOptions) {
  const open = (policy: AddressPolicy) =>
    new Sender({
      policy,
      resolve,
      timeoutMs: TIMEOUT_MS,
      proxyUrl,
      // One more shows that the document is too large.
      maxBytes: MAX_BYTES + 1,
    });
  const senders = { named: open(own), wildcard: open(new AddressPolicy([])) };
  const fetchDocument: FetchDocument = async (clientId, match) => {
    // A redirect is an answer like any other: it is not followed.
    const outcome = await senders[match].send({ url: clientId, headers: HEADERS });
    const { statusCode, error, responseBody, headers } = outcome;
    if (!headers) return { problem: `${error}`, isGone: false };
    if (statusCode !== 200) return { problem: `its status is ${statusCode}`, isGone: WITHDRAWN.has(statusCode ?? 0) };
    const document = readAnswer(clientId, headers, responseBody ?? '');
    if ('problem' in document) return { ...document, isGone: true };
    return { document, keptMs: keptMsOf(headers, new Date()) };
  };
  const close = () => {
    for (const sender of Object.values(senders)) sender.close();
  };
  return Object.assign(fetchDocument, { close });
}

/** Returns the document in an answer with the status 200, or why it has none. */
function readAnswer(clientId: string, headers: IncomingHttpHeaders, body: string) {
  const type = (headers['content-type'] ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? '';
  if (!/^application\/(?:[\w.+-]+\+)?json$/.test(type)) return { problem: 'its content type is not JSON' };
  if ((headers['content-encoding'] ?? 'identity') !== 'identity') return { problem: 'it has a content encoding' };
  if (Buffer.byteLength(body) > MAX_BYTES) return { problem: `it is larger than ${MAX_BYTES} bytes` };
  return readClientDocument(clientId, body);
}

/** Returns how long the headers allow to keep the answer (RFC 9111), within the limits. */
function keptMsOf(headers: IncomingHttpHeaders, now: Date): number {
  const directives = `${headers['cache-control'] ?? ''}`.toLowerCase().split(',');
  const names = directives.map((directive) => directive.trim());
  if (names.includes('no-store')) return 0;
  const maxAge = names.map((name) => /^max-age="?(\d+)"?$/.exec(name)?.[1]).find((seconds) => seconds !== undefined);
  const expires = Date.parse(`${headers.expires ?? ''}`) - (Date.parse(`${headers.date ?? ''}`) || now.getTime());
  const wanted = maxAge === undefined ? expires : (Number(maxAge) - Number(headers.age ?? 0)) * 1_000;
  return Number.isNaN(wanted) ? SHORTEST_MS : Math.min(Math.max(wanted, SHORTEST_MS), LONGEST_MS);
}

/** The metadata of a client that nobody has registered. What it says of rights is not used: it grants itself nothing. */
export interface ClientDocument {
  readonly name: string;
  /** Those that an application could register, too. A document may list others beside them. */
  readonly redirectUris: readonly string[];
}

const MAX_NAME_LENGTH = 100;
const MAX_REDIRECT_URIS = 20;
const MAX_URI_LENGTH = 2_048;

/** Returns the document, or why it is not that of a public client with this ID. */
function readClientDocument(clientId: string, text: string): ClientDocument | { readonly problem: string } {
  const document = parseObject(text);
  if (!document) return { problem: 'it is no JSON object' };
  if (document.client_id !== clientId) return { problem: 'its client_id is another' };
  const { client_name: name, redirect_uris: uris } = document;
  if (typeof name !== 'string' || !isName(name))
    return { problem: `its client_name is not 1 to ${MAX_NAME_LENGTH} characters of one line` };
  if (!isPublic(document)) return { problem: 'its token_endpoint_auth_methods do not include none' };
  // Whoever reads the document knows its secret, too.
  const secret = Object.keys(document).find((field) => field.startsWith('client_secret'));
  if (secret !== undefined) return { problem: 'it has a client_secret' };
  if (!Array.isArray(uris) || uris.length > MAX_REDIRECT_URIS)
    return { problem: `its redirect_uris are no list of 1 to ${MAX_REDIRECT_URIS}` };
  // One that is unusable may be for another of the client's products, such as `cursor://…` beside https.
  const redirectUris = uris.filter((uri): uri is string => typeof uri === 'string' && isUsable(uri));
  if (redirectUris.length === 0) return { problem: 'none of its redirect_uris is usable' };
  return { name, redirectUris };
}

/**
 * Returns whether the client can do without authentication. It names the method that it prefers, and may list others,
 * because it does not know what the authorization server supports: ChatGPT prefers `private_key_jwt`.
 */
function isPublic(document: Readonly<Record<string, unknown>>): boolean {
  const { token_endpoint_auth_method: preferred, token_endpoint_auth_methods_supported: others } = document;
  if (preferred === 'none') return true;
  return others === undefined ? preferred === undefined : Array.isArray(others) && others.includes('none');
}

function isUsable(uri: string): boolean {
  return uri.length <= MAX_URI_LENGTH && isRegistrable(uri);
}

/** Characters that turn the direction of text could make a page say something else. */
function isName(name: string): boolean {
  const length = [...name].length;
  return (
    name.isWellFormed() &&
    length <= MAX_NAME_LENGTH &&
    name.trim() !== '' &&
    !/[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]/u.test(name)
  );
}
