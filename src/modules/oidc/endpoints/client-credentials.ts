/** Client authentication: RFC 6749, section 2.3.1. */

import { isForm } from '../../../api/media-type.ts';
import { HttpError } from '../../../http/errors.ts';
import { readBody } from '../../../http/exchange.ts';
import type { HttpContext } from '../../../http/http-context.ts';
import { OidcError } from '../domain/oidc-error.ts';

export interface ClientCredentials {
  readonly clientId: string;
  readonly secret: string | undefined;
}

/**
 * Returns the credentials of the header, or else of the form.
 *
 * @throws OidcError `invalid_request` without client ID or with two credentials, `invalid_client` for a malformed header
 */
export function readClientCredentials(authorization: string | undefined, form: FormFields): ClientCredentials {
  const clientId = form.get('client_id');
  const secret = form.get('client_secret');
  if (authorization !== undefined) {
    const credentials = parseBasic(authorization);
    if (secret !== undefined || (clientId !== undefined && clientId !== credentials.clientId)) {
      throw invalidRequest('The client must send one credential');
    }
    return credentials;
  }
  if (clientId === undefined) throw invalidRequest('client_id is missing');
  return { clientId, secret };
}

/** Returns the error with the challenge that RFC 6749, section 5.2, demands. @param detail for the log only */
export function invalidClient(detail?: string): OidcError {
  return new OidcError('invalid_client', { headers: { 'www-authenticate': 'Basic realm="usher"' }, detail });
}

function parseBasic(authorization: string): ClientCredentials {
  const encoded = /^basic +([A-Za-z0-9+/_-]+={0,2}) *$/i.exec(authorization)?.[1];
  const halves = Buffer.from(encoded ?? '', 'base64')
    .toString('utf8')
    .split(':');
  const [clientId, secret] = halves.map(decodeFormText);
  // Within client ID and secret, a colon is percent-encoded.
  if (!clientId || secret === undefined || halves.length > 2) throw invalidClient();
  // Libraries send an empty secret for a client without one.
  return { clientId, secret: secret || undefined };
}

/** Decodes the client ID or the secret: clients form-encode each of them before base64. */
function decodeFormText(text: string): string | undefined {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    return undefined;
  }
}

const MAX_FORM_BYTES = 16_384;

export type FormFields = ReadonlyMap<string, string>;

/** Reads the form in the body. @throws OidcError like `parseForm`; HttpError if it is no form, too large or too late */
export async function readForm({ request }: HttpContext, deadline: number): Promise<FormFields> {
  if (!isForm(request)) throw new HttpError('UNSUPPORTED_MEDIA_TYPE');
  return parseForm((await readBody(request, MAX_FORM_BYTES, deadline)).toString('utf8'));
}

/** Returns the fields that have a value. @throws OidcError `invalid_request` if a field comes twice, or has a NUL */
export function parseForm(text: string): FormFields {
  const fields = new Map<string, string>();
  for (const [name, value] of new URLSearchParams(text)) {
    if (fields.has(name)) throw invalidRequest('A field comes twice');
    // Postgres refuses texts with a NUL.
    if (value.includes('\0')) throw invalidRequest('A field has a NUL');
    fields.set(name, value);
  }
  // RFC 6749, section 3.1: a field without a value counts as missing.
  return new Map([...fields].filter(([, value]) => value !== ''));
}

/** @throws OidcError `invalid_request` if the field is missing */
export function requireField(form: FormFields, name: string): string {
  const value = form.get(name);
  if (value === undefined) throw invalidRequest(`${name} is missing`);
  return value;
}

/** `description` must not contain values of the caller. */
export function invalidRequest(description: string): OidcError {
  return new OidcError('invalid_request', { description });
}
