import { once } from 'node:events';
import { connect } from 'node:net';

const TIMEOUT_MS = 2_000;

/** Returns why there is no connection to the proxy of webhooks. Undefined if there is one. */
export async function findProxyProblem({ hostname, port, protocol }: URL): Promise<string | undefined> {
  const socket = connect(Number(port) || (protocol === 'https:' ? 443 : 80), hostname.replace(/^\[|\]$/g, ''));
  try {
    await once(socket, 'connect', { signal: AbortSignal.timeout(TIMEOUT_MS) });
    return undefined;
  } catch (error) {
    const { code, name } = Object(error);
    return name === 'AbortError' ? 'no answer' : String(code);
  } finally {
    socket.destroy();
  }
}
