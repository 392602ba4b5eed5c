import type { Config } from '../config/config.ts';
import type { Secrets } from '../config/secrets.ts';
import { deriveAccountKeys } from '../domain/account/account-keys.ts';
import { EthereumNode } from '../domain/login/ethereum-node.ts';
import { deriveLoginCodeKeys } from '../domain/login/login-code.ts';
import type { PathHandler } from '../http/http-context.ts';
import { createAccountOffer } from './account/account-offer.ts';
import { createLoginPage, type LoginPageServices } from './login-page.ts';
import type { LoginPageParts } from './login-request.ts';
import { createLogoHandler } from './logo.ts';
import { serveNotFoundPage } from './not-found-page.ts';
import type { PageOffer } from './page-offer.ts';
import { REMEMBERED_OFFER } from './remembered-offer.ts';

/** Raises the limits if the terminal shows the codes, because people who try Usher sign in many times. */
const TRIAL_FACTOR = 100;

/** Returns the handlers of logos and, unless `AUTH_PAGE_URL` is set, of the login page. */
export function createLoginHandlers(
  config: Config,
  { encryptionKeys }: Pick<Secrets, 'encryptionKeys'>,
  services: LoginPageServices & Pick<LoginPageParts, 'logins'>,
  given: readonly PageOffer[],
): PathHandler[] {
  const handlers = [createLogoHandler(services)];
  const { singleSignOnMaxAgeSeconds } = config;
  const accountKeys = deriveAccountKeys(encryptionKeys);
  const shared = { ...services, accountKeys, singleSignOnMaxAgeSeconds };
  if (config.authPageUrl === undefined) {
    const accountOffer = createAccountOffer(services.authPageUrl, () => offers);
    // The wallet, which the account page itself shows, is between passkeys and providers.
    const offers = [...given.toSpliced(1, 0, accountOffer), REMEMBERED_OFFER];
    const homes = new Map(
      offers.flatMap(({ home = [] }) => home).map(({ applicationId, path }) => [applicationId, path]),
    );
    handlers.push(
      createLoginPage({ ...shared, homes, ...createSignInParts(config, encryptionKeys, services) }, offers),
    );
  }
  // These handlers are asked last.
  return [...handlers, serveNotFoundPage];
}

/** Returns the settings and keys of the methods to sign in, and of the account page. */
function createSignInParts(
  config: Config,
  encryptionKeys: Secrets['encryptionKeys'],
  { requestTimeoutMs }: Pick<LoginPageServices, 'requestTimeoutMs'>,
) {
  const { databaseUrl, ethereumChainId: chainId, ethereumRpcUrl: url, smtp } = config;
  const limitFactor = databaseUrl === undefined && !smtp ? TRIAL_FACTOR : 1;
  return {
    allowAccountDeletion: config.allowAccountDeletion,
    chainId,
    codes: { keys: deriveLoginCodeKeys(encryptionKeys), limitFactor },
    methods: config.loginMethods,
    node: url ? new EthereumNode({ url, chainId, requestTimeoutMs }) : undefined,
  };
}
