/** Finds the running Usher: at `PUBLIC_URL`, and at its port on this machine. */
import type { JWK } from 'jose';
import type { Secrets } from '../config/secrets.ts';
import { parseObject } from '../encoding/json.ts';
import type { FullConfig } from '../modules/modules.ts';
import { type Asked, askUsher, sendRequest, type Target } from './ask-usher.ts';

export interface ReachedUsher {
  readonly publicUrl: string;
  /** What answers at `PUBLIC_URL`. Undefined without keys, as before the first start. */
  readonly atPublicUrl: Asked | Error | undefined;
  /** Whether this Usher runs on this machine. */
  readonly isHere: boolean;
  readonly readKeySet: (path: string) => Promise<readonly JWK[] | undefined>;
}

/** The addresses that mean any address, and how this machine reaches them. */
const ANY_ADDRESS: Readonly<Record<string, string>> = { '0.0.0.0': '127.0.0.1', '::': '::1' };

export async function reachUsher(config: FullConfig, { encryptionKeys }: Partial<Secrets>): Promise<ReachedUsher> {
  const { host, port, tls } = config;
  const name = ANY_ADDRESS[host] ?? host;
  const own = `${tls ? 'https' : 'http'}://${name.includes(':') ? `[${name}]` : name}:${port}`;
  const publicUrl = config.publicUrl ?? `http://localhost:${port}`;
  const targets = {
    atPublicUrl: { url: publicUrl, isLocal: false },
    atPort: port === 0 ? undefined : { url: own, isLocal: true },
  };
  const ask = async (target: Target | undefined) =>
    encryptionKeys && target ? askUsher(target, encryptionKeys).catch((error: Error) => error) : undefined;
  const [atPublicUrl, atPort] = await Promise.all([ask(targets.atPublicUrl), ask(targets.atPort)]);
  const reached = isAnswer(atPublicUrl) ? targets.atPublicUrl : isAnswer(atPort) ? targets.atPort : undefined;
  return {
    publicUrl,
    atPublicUrl,
    isHere: isAnswer(atPort),
    async readKeySet(path) {
      if (!reached) return undefined;
      const { status, body } = await sendRequest(reached, path);
      const { keys } = (status === 200 ? parseObject(body) : undefined) ?? {};
      return Array.isArray(keys) ? keys : [];
    },
  };
}

export function isAnswer(found: Asked | Error | undefined): found is Asked {
  return found !== undefined && !(found instanceof Error);
}
