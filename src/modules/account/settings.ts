import type { Config } from '../../config/config.ts';
import type { OperatorSettings } from '../../config/operators.ts';
import { parseBoolean } from '../../config/parse-setting.ts';
import { setting, type ValuesOf } from '../../config/setting.ts';

export const ACCOUNT_SETTINGS = {
  allowAccountDeletion: setting(
    'ALLOW_ACCOUNT_DELETION',
    parseBoolean,
    '`false`: people cannot delete their account on the account page.',
    { default: true },
  ),
};

export interface AccountConfig extends Config, OperatorSettings, ValuesOf<typeof ACCOUNT_SETTINGS> {}
