/** The command `npm run console <e-mail>`, on the embedded Postgres also without an address. It needs the secrets of the server, but not the database. */
import { readFile } from 'node:fs/promises';
import { toEmailKey } from '../../config/email-address.ts';
import { TRIAL_OPERATORS } from '../../config/operators.ts';
import { completeSecrets } from '../../config/secrets.ts';
import { consoleUrlFile, defaultConsolePort, findFirstAdmin } from './embedded-defaults.ts';
import { deriveConsoleKeys } from './keys.ts';
import type { ConsoleConfig } from './settings.ts';
import { createSignInLink } from './sign-in-link.ts';

/** Returns the output of the command: a link that signs the operator in. @throws Error with a message of one line */
export async function createConsoleLink(config: ConsoleConfig, email: string | undefined): Promise<string> {
  const isEmbedded = config.databaseUrl === undefined;
  if (!isEmbedded && (config.consolePort === undefined || !config.operators))
    throw new Error('There is no console without CONSOLE_PORT and OPERATORS_FILE');
  const operators = config.operators ?? TRIAL_OPERATORS;
  const isNamed = email !== undefined || !isEmbedded;
  const operator = isNamed ? operators.get(toEmailKey(email ?? '')) : findFirstAdmin(operators);
  if (!operator) {
    const why = email === undefined ? 'npm run console needs an e-mail address' : `${email} is not in OPERATORS_FILE`;
    throw new Error(`${why}: an operator is ${[...operators.values()][0]?.email}`);
  }
  const url = config.consoleUrl ?? (isEmbedded ? await readConsoleUrl(config) : undefined) ?? defaultUrl(config);
  const { encryptionKeys } = await completeSecrets(config.secrets, config.dataDir);
  const link = createSignInLink(deriveConsoleKeys(encryptionKeys), url, operator.email, new Date());
  const what = operator.needsPasskey
    ? `lets ${operator.email} sign in and add a passkey that opens the console at once`
    : `signs ${operator.email} in as ${operator.role}`;
  return `${link}\n\nThe link ${what}. It works once, for 15 minutes.\n`;
}

/** Returns the URL at which the last start opened the console, if there was one. */
async function readConsoleUrl(config: ConsoleConfig): Promise<string | undefined> {
  return readFile(consoleUrlFile(config), 'utf8').catch(() => undefined);
}

function defaultUrl({ consolePort, port, tls }: ConsoleConfig): string {
  const wanted = consolePort ?? defaultConsolePort(port);
  if (wanted === 0) throw new Error('CONSOLE_URL is required, since CONSOLE_PORT is 0');
  return `${tls ? 'https' : 'http'}://localhost:${wanted}`;
}
