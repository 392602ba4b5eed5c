import { HttpError } from '../http/errors.ts';
import { type HttpContext, headerOf } from '../http/http-context.ts';
import { readBody } from '../http/read-body.ts';

/** Returns the body of a posted form. @throws HttpError 415, 413 or 408 */
export async function readPostedForm({ request }: HttpContext, maxBytes: number, deadline: number): Promise<string> {
  const contentType = headerOf(request, 'content-type') ?? '';
  if (!/^application\/x-www-form-urlencoded\s*(?:;|$)/i.test(contentType)) {
    throw new HttpError('UNSUPPORTED_MEDIA_TYPE');
  }
  return (await readBody(request, maxBytes, deadline)).toString('utf8');
}
