import type { Config } from '../../config/config.ts';
import { parseSingleSignOnMaxAge } from '../../config/parse-setting.ts';
import { setting, type ValuesOf } from '../../config/setting.ts';

export const SETTINGS_OF_REMEMBERED_SIGN_INS = {
  singleSignOnMaxAgeSeconds: setting(
    'SINGLE_SIGN_ON_MAX_AGE',
    parseSingleSignOnMaxAge,
    'How long browsers remember a sign-in for applications with `single_sign_on`, written as `SESSION_MAX_AGE`; `0`: not at all.',
    { default: 43_200, defaultText: '`12h`' },
  ),
};

export interface RememberedSignInsConfig extends Config, ValuesOf<typeof SETTINGS_OF_REMEMBERED_SIGN_INS> {}
