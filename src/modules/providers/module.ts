/** Other providers at which people sign in: those of OpenID Connect, and GitHub. */
import type { Config } from '../../config/config.ts';
import { allowsMethod } from '../../domain/applications/branding.ts';
import { ONE_FACTOR } from '../../domain/core/assurance.ts';
import { selectIdentities } from '../../domain/identities/list-identities.ts';
import { showYoung } from '../../domain/users/counts-from.ts';
import { watchFiles } from '../../jobs/watch-files.ts';
import type { PageOffer } from '../../login-page/offer/page-offer.ts';
import type { AlertKey } from '../../login-page/pages/alerts.ts';
import { type CheckContext, type CheckFinding, fail, pass } from '../check.ts';
import type { Early, Module } from '../module.ts';
import { createLinkActions } from './account.ts';
import { createProviderActions } from './actions.ts';
import { highestLevelOf } from './assurance-table.ts';
import { deriveAuthorizationKeys } from './domain/authorization-state.ts';
import { type LoginProviderSettings, LoginProviders } from './domain/login-providers.ts';
import { markOf, type ProviderView, renderProviderForms } from './pages/provider-buttons.ts';
import { renderIdentities } from './pages/render-identities.ts';
import { type LoginProvider, parseLoginProviders } from './parse-login-providers.ts';
import { ofProviders, type ProvidersConfig } from './settings.ts';

export const providersModule: Module<Config & ProvidersConfig> = {
  ...ofProviders,
  name: 'providers',
  offer: (config, early) => ({ pages: createProviderOffer(config, early) }),
  checks: [{ check: 'providers', settings: ['LOGIN_PROVIDERS_FILE'], run: checkProviders }],
};

/** Reads the metadata of each provider, as the first sign-in does. */
async function checkProviders({
  config,
  publicUrl,
}: CheckContext<LoginProviderSettings>): Promise<readonly CheckFinding[]> {
  const providers = new LoginProviders(config);
  const secrets = { state: 'check', nonce: 'check', codeVerifier: 'check'.repeat(9) };
  const options = { redirectUri: publicUrl, loginHint: '' };
  const checked = providers.all.map(async ({ id, issuer, name }) => {
    try {
      await providers.require(id).authorizationUrl(secrets, options);
      return pass(`${name} can be used`);
    } catch (error) {
      const { detail = error } = Object(error);
      return fail(`${name} cannot be used: ${detail} (${issuer})`, 'Nobody can sign in there. Correct its issuer');
    }
  });
  return Promise.all(checked);
}

function createProviderOffer(
  config: LoginProviderSettings & Pick<ProvidersConfig, 'loginProvidersFile'>,
  { secrets }: Pick<Early, 'secrets'>,
): PageOffer {
  const providers = new LoginProviders(config);
  const settings = { providers, authorizationKeys: deriveAuthorizationKeys(secrets.encryptionKeys) };
  const file = config.loginProvidersFile;
  return {
    createActions: (account) => [
      ...createProviderActions(settings, account),
      ...(account ? createLinkActions(account, settings) : []),
    ],
    accountSection: {
      notes: { identity: 'account.note.identity', identityRemoved: 'account.note.identityRemoved' },
      async show({ call, parts }, view, { id: userId }) {
        const identities = await call.run(selectIdentities, { userId });
        const hasEmail = parts.methods.includes('email');
        return renderIdentities(view, {
          identities: showYoung(identities, call.now),
          providers: providers.all,
          hasEmail,
        });
      },
      exportData: async (call, userId) => ({ identities: await call.run(selectIdentities, { userId }) }),
    },
    signInWay: {
      get highest() {
        return Math.max(ONE_FACTOR, ...providers.all.map(({ assurance }) => highestLevelOf(assurance)));
      },
      view(login, request) {
        const { problem = '', provider = '' } = request?.fields ?? {};
        const allowed = providers.all
          .filter(
            ({ id, assurance }) => allowsMethod(login, id) && highestLevelOf(assurance) >= login.requiredAssurance,
          )
          .map((each) => ({ ...toProviderView(each), isAskedAgain: problem === ASK_AGAIN && each.id === provider }));
        return allowed.length === 0 ? undefined : { renderForms: (view) => renderProviderForms(view, allowed) };
      },
      providers,
      async run({ logger, signal }) {
        if (file === undefined) return;
        await watchFiles([file], {
          signal,
          use: (text = '') => providers.replace(parseLoginProviders(text)),
          onUsed: () => logger.info('login providers read again'),
          onError: (error) => logger.error({ err: error }, 'login providers not read again'),
        });
      },
    },
  };
}

/** The problem after which the page offers to ask the provider for a second factor once more. */
const ASK_AGAIN: AlertKey = 'PROVIDER_ONE_FACTOR';

function toProviderView({ id, name, issuer }: LoginProvider): ProviderView {
  return { id, name, mark: markOf(issuer) };
}
