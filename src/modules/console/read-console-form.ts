import type { CallInfo } from '../../api/call-info.ts';
import { isForm, readMediaType } from '../../api/media-type.ts';
import { MAX_LOGO_BYTES } from '../../domain/applications/logo-image.ts';
import { HttpError } from '../../http/errors.ts';
import { headerOf, readBody } from '../../http/exchange.ts';
import type { HttpContext } from '../../http/http-context.ts';
import type { ConsoleRequest } from './console-request.ts';
import type { ConsoleRoute } from './route.ts';

const MAX_FORM_BYTES = 16_384;
export const MAX_LIST_BYTES = 65_536;
/** A file of people, as the form that confirms it encodes it. */
const MAX_IMPORT_BYTES = 4 * MAX_LIST_BYTES;
/** A logo, and the multipart encoding around it. */
const MAX_UPLOAD_BYTES = MAX_LOGO_BYTES + 2_048;

type FormBody = Pick<ConsoleRequest, 'form' | 'upload'>;

/**
 * Reads a form. Does not parse a form with a file: anybody can send one, and parsing costs more than reading.
 *
 * @throws HttpError
 */
export async function readConsoleForm(
  { request }: HttpContext,
  { deadline }: CallInfo,
  { takesFile, takesList }: ConsoleRoute,
): Promise<FormBody> {
  const nothing = { form: new URLSearchParams(), upload: undefined };
  const contentType = headerOf(request, 'content-type') ?? '';
  if (takesFile && readMediaType(request).name === 'multipart/form-data') {
    const limit = takesList ? MAX_IMPORT_BYTES : MAX_UPLOAD_BYTES;
    const body = await readBody(request, limit, deadline).catch(withoutTooLarge);
    return { ...nothing, upload: new Response(body, { headers: { 'content-type': contentType } }) };
  }
  if (!isForm(request)) {
    // The script of the page sends a POST without a body.
    if (contentType === '' && Number(request.headers['content-length'] ?? 0) === 0) return nothing;
    throw new HttpError('UNSUPPORTED_MEDIA_TYPE');
  }
  const listBytes = takesFile ? MAX_IMPORT_BYTES : MAX_LIST_BYTES;
  const body = await readBody(request, takesList ? listBytes : MAX_FORM_BYTES, deadline);
  return { ...nothing, form: new URLSearchParams(body.toString('utf8')) };
}

/** Turns a file that is too large into an empty body, so that the page of the form shows the error. */
function withoutTooLarge(error: HttpError): string {
  if (error.reason === 'PAYLOAD_TOO_LARGE') return '';
  throw error;
}
