/** Renders the text that `npm start` prints on the embedded Postgres. */
import { join, resolve } from 'node:path';
import { VERSION } from './config/version.ts';
import type { Greeting } from './modules/module.ts';

interface FirstScreen {
  /** How this machine reaches the server. */
  readonly url: string;
  /** How others reach it, and the issuer that clients compare. */
  readonly publicUrl: string;
  readonly greetings: readonly Greeting[];
  readonly dataDir: string;
  readonly metricsUrl: string | undefined;
}

/** Returns at most 12 lines. Lines have at most 100 columns, except those to paste. */
export function renderFirstScreen({ url, publicUrl, greetings, dataDir, metricsUrl }: FirstScreen): string {
  const rows = [
    // The module that opened last comes first: the demo.
    ...greetings
      .toReversed()
      .filter(({ text }) => text !== '')
      .map(({ title, text }) => [title, text]),
    ['Docs', `${publicUrl.replace(/\/$/, '')}/docs`],
    publicUrl !== url && ['Here', url],
    metricsUrl && ['Metrics', metricsUrl],
  ].filter((row) => row !== false && row !== undefined && row !== '');
  const lines = rows.map(([name = '', text = '']) => `  ${name.padEnd(9)}${text}`);
  const variables = greetings.flatMap(({ variables = {} }) =>
    Object.entries(variables).map(([name, value]) => `${name}=${value}`),
  );
  const adminKey = `ADMIN_KEY="$(cat '${resolve(join(dataDir, 'admin-key'))}')"`;
  return `Usher ${VERSION} is ready.

${lines.join('\n')}

export ${[`USHER_URL=${publicUrl}`, ...variables, adminKey].join(' ')}

Data stays in ${dataDir}. Ctrl+C stops it.
`;
}
