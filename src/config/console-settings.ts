import { type Operators, parseOperators } from './operators.ts';
import { integerBetween, isOrigin } from './parse-setting.ts';
import { setting } from './setting.ts';

export const CONSOLE_SETTINGS = {
  consolePort: setting(
    'CONSOLE_PORT',
    integerBetween(0, 65_535),
    'Port of the [console](src/console/README.md) for operators.',
    { defaultText: 'none; the port after `PORT`, if embedded' },
  ),
  consoleHost: setting('CONSOLE_HOST', String, 'Address of the console. Keep it off the internet.', {
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

/** Returns the origin in the form of the `Origin` header: without the last slash. */
function parseOrigin(text: string): string {
  const origin = text.replace(/\/$/, '');
  if (!isOrigin(origin)) throw new Error('must be an origin such as https://console.example.com');
  return origin;
}
