import { isForm } from '../api/media-type.ts';
import { HttpError } from '../http/errors.ts';
import { readBody } from '../http/exchange.ts';
import type { HttpContext } from '../http/http-context.ts';

/** Returns the body of a posted form. @throws HttpError 415, 413 or 408 */
export async function readPostedForm({ request }: HttpContext, maxBytes: number, deadline: number): Promise<string> {
  if (!isForm(request)) throw new HttpError('UNSUPPORTED_MEDIA_TYPE');
  return (await readBody(request, maxBytes, deadline)).toString('utf8');
}
