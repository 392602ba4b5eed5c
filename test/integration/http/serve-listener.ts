import { createBlockList } from '../../../src/domain/webhooks/address-policy.ts';
import type { HttpContext, HttpHandler } from '../../../src/http/http-context.ts';
import { Listener } from '../../../src/http/listener.ts';
import type { Certificate } from '../../../src/http/tls.ts';

interface Options {
  readonly tls?: Certificate;
  readonly keepAliveTimeoutMs?: number;
  readonly onError?: (error: unknown, requestId?: string) => void;
}

/** Serves requests on a free port without a service. */
export async function serveListener(
  handle: HttpHandler,
  { tls, keepAliveTimeoutMs = 75_000, onError = () => {} }: Options = {},
) {
  const listener = await Listener.open({
    host: '127.0.0.1',
    port: 0,
    tls,
    keepAliveTimeoutMs,
    trustedProxies: createBlockList([]),
    renderError: (reason) => JSON.stringify({ reason }),
  });
  const answer = async (context: HttpContext) => {
    await handle(context);
    return true;
  };
  listener.serve({ handlers: [answer], handleStream: () => false, pathsWithoutHost: new Set(), onError });
  const { port } = listener;
  return { port, url: `http://127.0.0.1:${port}`, [Symbol.asyncDispose]: () => listener.close(1_000) };
}
