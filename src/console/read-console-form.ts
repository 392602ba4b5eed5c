import type { CallInfo } from '../api/call-info.ts';
import { MAX_LOGO_BYTES } from '../domain/applications/logo-image.ts';
import { HttpError } from '../http/errors.ts';
import { type HttpContext, headerOf } from '../http/http-context.ts';
import { readBody } from '../http/read-body.ts';
import type { ConsoleRequest } from './console-request.ts';
import type { ConsoleRoute } from './route.ts';

const MAX_FORM_BYTES = 16_384;
/** A logo, and the parts around it. */
const MAX_UPLOAD_BYTES = MAX_LOGO_BYTES + 2_048;

type Sent = Pick<ConsoleRequest, 'form' | 'upload'>;

/** Reads a form. One with a file is only read: anybody can send it, and parsing costs more. @throws HttpError */
export async function readConsoleForm(
  { request }: HttpContext,
  { deadline }: CallInfo,
  { takesFile }: ConsoleRoute,
): Promise<Sent> {
  const nothing = { form: new URLSearchParams(), upload: undefined };
  const contentType = headerOf({ headers: request.headers }, 'content-type') ?? '';
  if (takesFile && /^multipart\/form-data\s*;/i.test(contentType)) {
    const body = await readBody(request, MAX_UPLOAD_BYTES, deadline).catch(withoutTooLarge);
    return { ...nothing, upload: new Response(body, { headers: { 'content-type': contentType } }) };
  }
  if (!/^application\/x-www-form-urlencoded\s*(?:;|$)/i.test(contentType)) {
    // A form without fields, sent by the script of the page.
    if (contentType === '' && Number(request.headers['content-length'] ?? 0) === 0) return nothing;
    throw new HttpError('UNSUPPORTED_MEDIA_TYPE');
  }
  const body = await readBody(request, MAX_FORM_BYTES, deadline);
  return { ...nothing, form: new URLSearchParams(body.toString('utf8')) };
}

/** The page of the form says that a file was too large. */
function withoutTooLarge(error: unknown): string {
  if (error instanceof HttpError && error.reason === 'PAYLOAD_TOO_LARGE') return '';
  throw error;
}
