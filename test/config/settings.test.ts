import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { Setting } from '../../src/config/setting.ts';
import { SETTINGS } from '../../src/config/settings.ts';
import { ALL_SETTINGS } from '../../src/modules/modules.ts';
import { REPOSITORY } from '../support/process.ts';

test('the README lists every setting with its default and description', () => {
  const readme = readFileSync(join(REPOSITORY, 'README.md'), 'utf8');
  const [, table = ''] = readme.split('| Name | Default | Meaning |\n|---|---|---|\n');
  const rows = Object.values(ALL_SETTINGS).map(formatRow);
  expect(/^(\|.*\n)*/.exec(table)?.[0].trim().split('\n')).toEqual(rows);
});

test('the health check of the container image has the defaults of the settings', () => {
  const { host, port } = SETTINGS;
  const script = readFileSync(join(REPOSITORY, 'src/healthcheck.js'), 'utf8');
  expect(script).toContain(`{ HOST = '${host.default}', PORT = '${port.default}', TLS_CERT_FILE } = process.env;`);
});

function formatRow(setting: Setting<unknown>): string {
  const { name, description, requiredWith } = setting;
  const shown = setting.defaultText ?? (setting.default === undefined ? 'none' : `\`${setting.default}\``);
  return `| \`${name}\` | ${shown} | ${description}${requiredWith ? ` Required with \`${requiredWith}\`.` : ''} |`;
}
