import type { KeyObject } from 'node:crypto';
import { type Fixtures, SIGNED_IN_USERS } from '../fixtures.ts';
import { Meter } from '../meter.ts';
import type { Options } from '../options.ts';
import type { Progress } from '../run-bench.ts';
import { OIDC_PROVIDER, type ServerSpec, USHER, usherIn } from '../servers.ts';
import { startServer } from '../start-server.ts';
import { allowOpenId, createRsaKey, prepareOidcProvider } from './prepare-openid.ts';
import { registrationOf } from './steps.ts';

/** What a benchmark has prepared. */
export interface Scene {
  readonly fixtures: Fixtures;
  readonly environment: Readonly<Record<string, string>>;
  readonly directory: string;
}

interface Providers {
  readonly privateKey: KeyObject;
  readonly usher: Meter;
  /** Usher of another checkout. */
  readonly against: Meter | undefined;
  readonly oidcProvider: Meter;
}

const CONCURRENCY = 16;

/** Starts Usher and `oidc-provider`, where so many users can sign in. */
export async function startProviders(
  stack: AsyncDisposableStack,
  { fixtures, environment, directory }: Scene,
  { against, isProfiling }: Pick<Options, 'against' | 'isProfiling'>,
  { users, progress }: { users: number; progress: Progress },
): Promise<Providers> {
  const usherUrl = environment.DATABASE_URL ?? '';
  await allowOpenId(usherUrl, fixtures);
  const rivalUrl = await prepareOidcProvider(usherUrl, SIGNED_IN_USERS + users);
  const { privateKey, file } = await createRsaKey(directory);

  const start = async (server: ServerSpec, databaseUrl: string, settings: Record<string, string> = {}) => {
    progress(server.title);
    const common = { DATABASE_URL: databaseUrl, OIDC_SIGNING_KEYS_FILE: file, TRUSTED_PROXIES: '127.0.0.1' };
    const own = { ...environment, ...common, ...settings };
    const running = await startServer(stack, server, { environment: own, directory, isProfiling });
    return new Meter(stack, running, { databaseUrl, concurrency: CONCURRENCY });
  };
  return {
    privateKey,
    usher: await start(USHER, usherUrl),
    against: against === undefined ? undefined : await start(usherIn(against), usherUrl),
    oidcProvider: await start(OIDC_PROVIDER, rivalUrl, { CLIENT: JSON.stringify(toMetadata(fixtures)) }),
  };
}

/** Returns the application as `oidc-provider` knows clients. */
function toMetadata(fixtures: Fixtures) {
  const { clientId, clientSecret, redirectUri } = registrationOf(fixtures);
  return {
    client_id: clientId,
    client_secret: clientSecret,
    redirect_uris: [redirectUri],
    grant_types: ['authorization_code', 'refresh_token'],
  };
}
