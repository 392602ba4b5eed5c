import { isForm } from '../../../api/media-type.ts';
import { HttpError } from '../../../http/errors.ts';
import { readBody } from '../../../http/exchange.ts';
import type { HttpContext } from '../../../http/http-context.ts';
import { OidcError } from '../domain/oidc-error.ts';

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
