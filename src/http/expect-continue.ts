import type { NodeRequest, NodeResponse } from './http-context.ts';

/**
 * Sends `100 Continue` when a handler begins to read the body. The head may decide the answer, and then the client need
 * not send the body (RFC 9110, section 10.1.1).
 */
export function continueWhenRead(request: NodeRequest, response: NodeResponse): void {
  const onNewListener = (event: string) => {
    if (event !== 'data' && event !== 'readable') return;
    request.off('newListener', onNewListener);
    if (!response.headersSent) response.writeContinue();
  };
  request.on('newListener', onNewListener);
}
