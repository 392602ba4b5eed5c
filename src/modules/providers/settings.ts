import type { ModuleSettings } from '../../config/config.ts';
import { isLoginMethod } from '../../config/login-methods.ts';
import { setting, type ValuesOf } from '../../config/setting.ts';
import { parseLoginProviders } from './parse-login-providers.ts';

const SETTINGS_OF_PROVIDERS = {
  loginProviders: setting(
    'LOGIN_PROVIDERS_FILE',
    parseLoginProviders,
    'JSON array of other providers for signing in. Usher reads the file again when it changes.',
    { default: [], defaultText: 'none', isFile: 'secret' },
  ),
};

type OwnValues = ValuesOf<typeof SETTINGS_OF_PROVIDERS>;

export interface ProvidersConfig extends OwnValues {
  /** The providers that the login page offers. Undefined: all providers of the file. */
  readonly loginProviderIds: readonly string[] | undefined;
  /** The path of `LOGIN_PROVIDERS_FILE`, which is read again when it changes. */
  readonly loginProvidersFile: string | undefined;
}

/** What providers add to the settings. */
export const ofProviders: ModuleSettings<OwnValues> = {
  settings: SETTINGS_OF_PROVIDERS,
  offerMethods: ({ loginProviders }) => loginProviders.map(({ id }) => ({ name: id })),
  complete(env, _, { loginMethods }): Omit<ProvidersConfig, keyof OwnValues> {
    return {
      loginProviderIds: loginMethods?.filter((name) => !isLoginMethod(name)),
      loginProvidersFile: env.LOGIN_PROVIDERS_FILE || undefined,
    };
  },
};
