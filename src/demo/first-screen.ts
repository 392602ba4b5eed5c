/** Renders the text that `npm start` prints. */
import { VERSION } from '../config/version.ts';
import type { Demo } from './demo.ts';

interface FirstScreen {
  /** How this machine reaches the server. */
  readonly url: string;
  /** How others reach it, and the issuer that clients compare. */
  readonly publicUrl: string;
  readonly demo: Demo;
  readonly dataDir: string;
  readonly consoleLink: string | undefined;
  readonly metricsUrl: string | undefined;
}

/** Returns at most 12 lines. Lines have at most 100 columns, except those to paste. */
export function renderFirstScreen({ url, publicUrl, demo, dataDir, consoleLink, metricsUrl }: FirstScreen): string {
  const { adminKeyFile, apiKey, canSignIn, clientId, email, homeUrl } = demo;
  const rows = [
    canSignIn && ['Demo', `${homeUrl}    sign in as ${email}, the code appears here`],
    ['Docs', `${publicUrl.replace(/\/$/, '')}/docs`],
    publicUrl !== url && ['Here', url],
    consoleLink && ['Console', `works once, for 15 minutes:\n  ${consoleLink}`],
    metricsUrl && ['Metrics', metricsUrl],
  ].filter((row) => row !== false && row !== undefined && row !== '');
  const lines = rows.map(([name = '', text = '']) => `  ${name.padEnd(9)}${text}`);
  return `Usher ${VERSION} is ready.

${lines.join('\n')}

export USHER_URL=${publicUrl} CLIENT_ID=${clientId} API_KEY=${apiKey} ADMIN_KEY="$(cat '${adminKeyFile}')"

Data stays in ${dataDir}. Ctrl+C stops it.
`;
}
