import type { DescMessage, DescMethodUnary, MessageInitShape } from '@bufbuild/protobuf';
import type { Fields } from '../../../api/messages.ts';
import { type ConsoleRequest, perform } from '../console-request.ts';
import type { ConsoleRoute } from '../route.ts';
import { VERSION_FIELD } from './form.ts';

/**
 * Returns a handler that calls an RPC with the fields of a form, and redirects to a page. If the form has a version, an
 * update fails unless that version is the stored one.
 */
export function createAction<Input extends DescMessage, Output extends DescMessage>(
  method: DescMethodUnary<Input, Output>,
  readFields: (request: ConsoleRequest) => Fields<Input> | Promise<Fields<Input>>,
  pathAfter: (request: ConsoleRequest, answer: MessageInitShape<Output>) => string,
): ConsoleRoute['run'] {
  return async (request) => {
    const ifVersion = request.form.get(VERSION_FIELD) || undefined;
    const answer = await perform(request, method, await readFields(request), ifVersion);
    return { redirect: pathAfter(request, answer) };
  };
}
