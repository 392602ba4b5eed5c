/** What `npm start` prints. */
import { VERSION } from '../config/version.ts';
import type { Demo } from './demo.ts';

interface FirstScreen {
  /** How this machine reaches the server. */
  readonly url: string;
  readonly demo: Demo;
  readonly dataDir: string;
  readonly consoleLink: string | undefined;
  readonly metricsUrl: string | undefined;
}

/** Returns at most 12 lines. Those that are not to be pasted have at most 100 columns. */
export function renderFirstScreen({ url, demo, dataDir, consoleLink, metricsUrl }: FirstScreen): string {
  const { apiKey, canSignIn, clientId, email } = demo;
  const rows = [
    canSignIn && ['Demo', `${url}/demo`, `sign in as ${email}, the code appears here`],
    ['Docs', `${url}/docs`, ''],
    consoleLink && ['Console', consoleLink, 'works once, for 15 minutes'],
    metricsUrl && ['Metrics', metricsUrl, ''],
  ].filter((row) => row !== false && row !== undefined && row !== '');
  const lines = rows.map(([name = '', link = '', remark]) => `  ${name.padEnd(9)}${link}${remark && `    ${remark}`}`);
  return `Usher ${VERSION} is ready.

${lines.join('\n')}

export USHER_URL=${url} CLIENT_ID=${clientId} API_KEY=${apiKey} ADMIN_KEY="$(cat '${dataDir}/admin-key')"

Data stays in ${dataDir}. Ctrl+C stops it.
`;
}
