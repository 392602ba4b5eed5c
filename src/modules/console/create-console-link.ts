/** The command `npm run console <e-mail>`. It needs the secrets of the server, but not the database. */
import { toEmailKey } from '../../config/email-address.ts';
import { completeSecrets } from '../../config/secrets.ts';
import { defaultConsolePort, TRIAL_OPERATORS } from './embedded-defaults.ts';
import { deriveConsoleKeys } from './keys.ts';
import { parseOperators } from './operators.ts';
import type { ConsoleConfig } from './settings.ts';
import { createSignInLink } from './sign-in-link.ts';

/** Returns the output of the command: a link that signs the operator in. @throws Error with a message of one line */
export async function createConsoleLink(config: ConsoleConfig, email: string | undefined): Promise<string> {
  const operators = config.operators ?? (config.databaseUrl === undefined ? TRIAL_OPERATORS : parseOperators(''));
  const operator = operators.get(toEmailKey(email ?? ''));
  if (!operator) {
    const why = email === undefined ? 'npm run console needs an e-mail address' : `${email} is not in OPERATORS_FILE`;
    throw new Error(`${why}: an operator is ${[...operators.values()][0]?.email}`);
  }
  const port = config.consolePort ?? defaultConsolePort(config.port);
  if (config.consoleUrl === undefined && port === 0)
    throw new Error('CONSOLE_URL is required, since CONSOLE_PORT is 0');
  const url = config.consoleUrl ?? `${config.tls ? 'https' : 'http'}://localhost:${port}`;
  const { encryptionKeys } = await completeSecrets(config.secrets, config.dataDir);
  const link = createSignInLink(deriveConsoleKeys(encryptionKeys), url, operator.email, new Date());
  const what = operator.needsPasskey
    ? `lets ${operator.email} sign in and add a passkey that opens the console at once`
    : `signs ${operator.email} in as ${operator.role}`;
  return `${link}\n\nThe link ${what}. It works once, for 15 minutes.\n`;
}
