import type { Config, Environment } from '../../config/config.ts';
import { type OperatorSettings, type Operators, parseOperators } from '../../config/operators.ts';
import { integerBetween, isOrigin, parseHost } from '../../config/parse-setting.ts';
import { setting, type ValuesOf } from '../../config/setting.ts';

const CONSOLE_SETTINGS = {
  consolePort: setting(
    'CONSOLE_PORT',
    integerBetween(0, 65_535),
    'Port of the [console](src/modules/console/README.md) for operators.',
    { defaultText: 'none; the port after `PORT`, if embedded' },
  ),
  consoleHost: setting('CONSOLE_HOST', parseHost, 'Address of the console. Keep it off the internet.', {
    default: '127.0.0.1',
  }),
  consoleUrl: setting('CONSOLE_URL', parseOrigin, 'Origin of the console in browsers.', {
    defaultText: '`http://localhost:<port>`',
  }),
  operators: setting<Operators | undefined>(
    'OPERATORS_FILE',
    parseOperators,
    'Who may use the console: `ada@example.com admin` per line. Required with `CONSOLE_PORT` and `DATABASE_URL`.',
    { defaultText: 'none; `operator@example.com admin`, if embedded', isFile: true },
  ),
};

/** What the console adds to the settings. */
export const ofConsole = {
  settings: CONSOLE_SETTINGS,
  complete(env: Environment, problems: string[]): Pick<OperatorSettings, 'operatorsFile'> {
    if (isSameOrigin(env.CONSOLE_URL ?? '', env.PUBLIC_URL ?? '')) {
      problems.push('CONSOLE_URL must have another host or port than PUBLIC_URL');
    }
    // The embedded mode has an operator of its own.
    if (env.DATABASE_URL && env.CONSOLE_PORT && !env.OPERATORS_FILE) {
      problems.push('OPERATORS_FILE is required with CONSOLE_PORT and DATABASE_URL');
    }
    return { operatorsFile: env.OPERATORS_FILE || undefined };
  },
};

export interface ConsoleConfig
  extends Config,
    Pick<OperatorSettings, 'operatorsFile'>,
    ValuesOf<typeof CONSOLE_SETTINGS> {}

function isSameOrigin(one: string, other: string): boolean {
  return URL.canParse(one) && URL.canParse(other) && new URL(one).origin === new URL(other).origin;
}

/** Returns the origin in the form of the `Origin` header: without the last slash. */
function parseOrigin(text: string): string {
  const origin = text.replace(/\/$/, '');
  if (!isOrigin(origin)) throw new Error('must be an origin such as https://console.example.com');
  return origin;
}
