/** What anyone may ask without a key: liveness, readiness, and the public keys that verify auth tokens. */
import type { JWK } from 'jose';
import type { HttpAdapter, HttpContext } from '../../http/http-context.ts';
import { sendJson } from '../../http/response.ts';
import { sendFailure } from '../rest/envelope.ts';

export function createOpenEndpoints(publicJwks: { keys: JWK[] }, isReady: () => Promise<boolean>): HttpAdapter {
  const jwks = JSON.stringify(publicJwks);
  const answers: Record<string, (exchange: HttpContext) => Promise<void> | void> = {
    '/healthz': (exchange) => sendJson(exchange, 200, '{"status":"ok"}'),
    '/readyz': async (exchange) => {
      if (await isReady()) sendJson(exchange, 200, '{"status":"ready"}');
      else sendJson(exchange, 503, '{"status":"not ready"}', { 'retry-after': '1' });
    },
    '/.well-known/jwks.json': (exchange) => sendJson(exchange, 200, jwks, { 'cache-control': 'public, max-age=300' }),
  };

  return async (exchange) => {
    const answer = Object.hasOwn(answers, exchange.path) ? answers[exchange.path] : undefined;
    if (!answer) return false;
    const { method } = exchange.request;
    if (method === 'GET' || method === 'HEAD') await answer(exchange);
    else sendFailure(exchange, 405, 'Method not allowed', { allow: 'GET, HEAD' });
    return true;
  };
}
