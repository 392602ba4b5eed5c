import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { Setting } from '../../src/config/setting.ts';
import { SETTINGS } from '../../src/config/settings.ts';
import { ALL_SETTINGS } from '../../src/modules/modules.ts';
import { REPOSITORY } from '../support/process.ts';

/** The pages list them by subject, whichever module they are of. */
const settings = Object.values(ALL_SETTINGS);

test('the page of settings lists every setting with its default and description', () => {
  // Links of descriptions lead from the root.
  const rows = settings.map((setting) => formatRow(setting).replaceAll('](src/', '](../'));
  expect(readRows('src/config/README.md').sort()).toEqual(rows.sort());
});

test('the README lists the settings of a first production, which are 15 at most', () => {
  const rows = settings.filter(({ isEssential }) => isEssential).map(formatRow);
  expect(readRows('README.md').sort()).toEqual(rows.sort());
  expect(rows.length).toBeLessThanOrEqual(15);
});

test('the health check of the container image has the defaults of the settings', () => {
  const { host, port } = SETTINGS;
  const script = readFileSync(join(REPOSITORY, 'src/healthcheck.js'), 'utf8');
  expect(script).toContain(`{ HOST = '${host.default}', PORT = '${port.default}', TLS_CERT_FILE } = process.env;`);
});

/** Returns the rows of all tables of settings of a page. */
function readRows(page: string): string[] {
  const [, ...tables] = readFileSync(join(REPOSITORY, page), 'utf8').split(
    '| Name | Default | Meaning |\n|---|---|---|\n',
  );
  return tables.flatMap((table) => /^(\|.*\n)*/.exec(table)?.[0].trim().split('\n') ?? []);
}

function formatRow(setting: Setting<unknown>): string {
  const { name, description, requiredWith } = setting;
  const shown = setting.defaultText ?? (setting.default === undefined ? 'none' : `\`${setting.default}\``);
  return `| \`${name}\` | ${shown} | ${description}${requiredWith ? ` Required with \`${requiredWith}\`.` : ''} |`;
}
