/** What the settings make of the console: whether there is one, where, for whom, and the link that the command prints. */
import { randomBytes } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parseOperators } from '../../../src/config/operators.ts';
import { createConsoleLink } from '../../../src/modules/console/create-console-link.ts';
import { defaultConsolePort, findFirstAdmin } from '../../../src/modules/console/embedded-defaults.ts';
import { deriveConsoleKeys } from '../../../src/modules/console/keys.ts';
import { consoleModule } from '../../../src/modules/console/module.ts';
import { type ConsoleConfig, ofConsole } from '../../../src/modules/console/settings.ts';
import { createSignInLink, openSignInLink } from '../../../src/modules/console/sign-in-link.ts';
import { createDirectory } from '../../support/directory.ts';

const encryptionKeys = [randomBytes(32)];
const secrets = { adminKey: '', authSigningKeys: [], oidcSigningKeys: [], encryptionKeys };
const operators = parseOperators('vera@example.com viewer\nada@example.com admin\ngrace@example.com admin passkey\n');
const [dataDir, EMPTY] = [await createDirectory(), await createDirectory()];
await writeFile(join(dataDir, 'console-url'), 'http://localhost:18');

const EMBEDDED = {
  ...{ databaseUrl: undefined, port: 8080, secrets, dataDir, operators },
  ...{ consolePort: undefined, consoleHost: '127.0.0.1', consoleUrl: undefined, tls: undefined },
} as unknown as ConsoleConfig;
const PRODUCTION = { ...EMBEDDED, databaseUrl: 'postgres://db.test', consolePort: 8081 };

type Given = Partial<Record<keyof ConsoleConfig, unknown>>;
const withSettings = (config: ConsoleConfig, given: Given) => ({ ...config, ...given }) as ConsoleConfig;

describe('npm run console', () => {
  const ADA = 'ada@example.com';

  test.each<[string, ConsoleConfig, given: Given, email: string | undefined, origin: string, text: string]>([
    ['in production', PRODUCTION, {}, ADA, 'http://localhost:8081', 'signs ada@example.com in as admin'],
    ['in any case', PRODUCTION, {}, 'VERA@example.com', 'http://localhost:8081', 'vera@example.com in as viewer'],
    ['with TLS', PRODUCTION, { tls: { cert: '', key: '' } }, ADA, 'https://localhost:8081', 'as admin'],
    ['with a URL', PRODUCTION, { consoleUrl: 'https://c.test', consolePort: 0 }, ADA, 'https://c.test', 'as admin'],
    [
      ...['for a passkey', PRODUCTION, {}, 'grace@example.com', 'http://localhost:8081'],
      'lets grace@example.com sign in and add a passkey that opens the console at once',
    ] as never,
    ['embedded', EMBEDDED, {}, undefined, 'http://localhost:18', 'signs ada@example.com in as admin'],
    [
      'embedded, for somebody',
      EMBEDDED,
      {},
      'vera@example.com',
      'http://localhost:18',
      'vera@example.com in as viewer',
    ],
    ['before the first start', EMBEDDED, { dataDir: EMPTY }, undefined, 'http://localhost:8081', 'ada@example.com'],
    ['on a port', EMBEDDED, { dataDir: EMPTY, consolePort: 7 }, undefined, 'http://localhost:7', 'ada@example.com'],
    ['without a file', EMBEDDED, { operators: undefined }, undefined, 'http://localhost:18', 'operator@example.com in'],
  ])('prints a link %s', async (_, config, given, email, origin, text) => {
    const output = await createConsoleLink(withSettings(config, given), email);
    expect(new URL(/^\S+/.exec(output)?.[0] ?? '').origin).toBe(origin);
    expect(output).toContain(text);
  });

  test.each<[string, ConsoleConfig, given: Given, email: string | undefined, message: string]>([
    ['no port', PRODUCTION, { consolePort: undefined }, ADA, 'There is no console without CONSOLE_PORT'],
    ['no file', PRODUCTION, { operators: undefined }, ADA, 'There is no console without CONSOLE_PORT'],
    ['no address', PRODUCTION, {}, undefined, 'npm run console needs an e-mail address: an operator is vera@'],
    ['another address', EMBEDDED, {}, 'eve@example.com', 'eve@example.com is not in OPERATORS_FILE'],
    [
      ...['no admin', EMBEDDED, { operators: parseOperators('vera@example.com viewer\n') }, undefined],
      'npm run console needs an e-mail address: an operator is vera@example.com',
    ] as never,
    ['any free port', PRODUCTION, { consolePort: 0 }, ADA, 'CONSOLE_URL is required, since CONSOLE_PORT is 0'],
  ])('says why it prints none: %s', async (_, config, given, email, message) => {
    await expect(createConsoleLink(withSettings(config, given), email)).rejects.toThrow(message);
  });
});

test.each([
  [8080, 8081],
  [0, 0],
  [65_535, 0],
])('beside the API on port %i, the console is on %i by default', (port, consolePort) => {
  expect(defaultConsolePort(port)).toBe(consolePort);
});

test.each([
  ['vera@example.com viewer\nada@example.com admin\n', 'ada@example.com'],
  ['grace@example.com admin passkey\nada@example.com admin\n', 'ada@example.com'],
  ['sam@example.com support\n', undefined],
])('of %j, the first admin who needs no passkey is greeted', (lines, email) => {
  expect(findFirstAdmin(parseOperators(lines))?.email).toBe(email);
});

test.each<[string, ConsoleConfig, given: Given, isOn: boolean]>([
  ['in production with a port', PRODUCTION, {}, true],
  ['in production without', PRODUCTION, { consolePort: undefined }, false],
  ['embedded with a port', EMBEDDED, { consolePort: 8081 }, true],
  ['embedded without', EMBEDDED, {}, true],
])('there is a console %s: %o', (_, config, given, isOn) => {
  const { open } = consoleModule.offer?.(withSettings(config, given), undefined as never) ?? {};
  expect(open !== undefined).toBe(isOn);
});

test('the port of the console must be free if the settings name it', () => {
  const portsOf = (config: ConsoleConfig) => consoleModule.portsOf?.(config);
  expect(portsOf(EMBEDDED)).toEqual([]);
  expect(portsOf(PRODUCTION)).toEqual([{ host: '127.0.0.1', port: 8081, settings: ['CONSOLE_HOST', 'CONSOLE_PORT'] }]);
});

describe('settings that do not fit', () => {
  const CONSOLE_URL = 'https://usher.test';
  const WANTED = { DATABASE_URL: 'postgres://db.test', CONSOLE_PORT: '8081', OPERATORS_FILE: '' };
  const [SAME, MISSING] = [
    'CONSOLE_URL must have another host or port than PUBLIC_URL',
    'OPERATORS_FILE is required with CONSOLE_PORT and DATABASE_URL',
  ];

  test.each<[env: Record<string, string>, problems: string[]]>([
    [{}, []],
    [{ CONSOLE_URL, PUBLIC_URL: 'https://usher.test/' }, [SAME]],
    [{ CONSOLE_URL, PUBLIC_URL: 'https://usher.test:8443' }, []],
    [{ CONSOLE_URL }, []],
    [{ PUBLIC_URL: CONSOLE_URL }, []],
    // Another problem names these.
    [{ CONSOLE_URL: 'usher', PUBLIC_URL: CONSOLE_URL }, []],
    [{ CONSOLE_URL, PUBLIC_URL: 'usher' }, []],
    [WANTED, [MISSING]],
    [{ ...WANTED, DATABASE_URL: '' }, []],
    [{ ...WANTED, CONSOLE_PORT: '' }, []],
    [{ ...WANTED, OPERATORS_FILE: '/operators' }, []],
  ])('%o', (env, expected) => {
    const problems: string[] = [];
    const { operatorsFile } = ofConsole.complete(env, problems);
    expect(problems).toEqual(expected);
    expect(operatorsFile).toBe(env.OPERATORS_FILE ? '/operators' : undefined);
  });

  test('name the form of an origin', () => {
    const { parse } = ofConsole.settings.consoleUrl;
    expect(parse('https://console.test/')).toBe('https://console.test');
    for (const text of ['https://console.test/a', 'console.test', ''])
      expect(() => parse(text)).toThrow('must be an origin such as https://console.example.com');
  });
});

test('a link works until 15 minutes have passed, to the second', () => {
  const keys = deriveConsoleKeys(encryptionKeys);
  const now = new Date('2026-03-01T10:00:00Z');
  const link = new URL(createSignInLink(keys, 'https://console.test', 'ada@example.com', now)).searchParams.get('link');
  const openAfter = (ms: number) => openSignInLink(keys, link ?? '', new Date(now.getTime() + ms))?.email;
  expect(openAfter(0)).toBe('ada@example.com');
  expect(openAfter(15 * 60_000 - 1)).toBe('ada@example.com');
  expect(openAfter(15 * 60_000)).toBeUndefined();
});
