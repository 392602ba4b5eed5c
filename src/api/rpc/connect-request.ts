import type { ContextValues } from '@connectrpc/connect';
import { assertByteStreamRequest, type UniversalServerRequest } from '@connectrpc/connect/protocol';
import { universalRequestFromNodeRequest } from '@connectrpc/connect-node';
import type { HttpContext } from '../../http/http-context.ts';
import { readMediaType } from '../media-type.ts';
import { decodeBase64, toBinaryType } from './grpc-web-text.ts';

/** Returns the request for Connect's handlers, which know few spellings of a media type, and no base64. */
export function toConnectRequest(context: HttpContext, values: ContextValues): UniversalServerRequest {
  const request = universalRequestFromNodeRequest(context.request, context.response, undefined, values);
  const { name, isUtf8 } = readMediaType(context);
  // Connect refuses the header as it is.
  if (name === '' || (name.endsWith('json') && !isUtf8)) return request;
  const binaryType = toBinaryType(name);
  request.header.set('content-type', binaryType ?? name);
  if (binaryType === undefined) return request;
  assertByteStreamRequest(request);
  return { ...request, body: decodeBase64(request.body) };
}
