import type { DescMessage, DescMethodUnary, MessageInitShape } from '@bufbuild/protobuf';
import type { Fields } from '../../api/procedures.ts';
import { type ConsoleRequest, perform } from '../console-request.ts';
import type { ConsoleRoute } from '../route.ts';

/** Returns a handler of forms that calls an RPC and goes on to a page. */
export function createAct<Input extends DescMessage, Output extends DescMessage>(
  method: DescMethodUnary<Input, Output>,
  readFields: (request: ConsoleRequest) => Fields<Input> | Promise<Fields<Input>>,
  pathAfter: (request: ConsoleRequest, answer: MessageInitShape<Output>) => string,
): ConsoleRoute['run'] {
  return async (request) => {
    const answer = await perform(request, method, await readFields(request));
    return { redirect: pathAfter(request, answer) };
  };
}
