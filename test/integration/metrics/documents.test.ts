/** The README, the dashboard and the alerts name the metrics that there are. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { METRICS } from '../../../src/metrics/definitions.ts';
import { createDirectory } from '../../support/directory.ts';
import {
  ALERT_TESTS,
  ALERTS,
  findUnknownMetrics,
  promtool,
  readDashboard,
  readPage,
  SKIPS_PROMETHEUS,
  seriesOf,
} from '../../support/metric-documents.ts';

test('the README has a row for each metric', () => {
  const rows = METRICS.map(({ name, type, labels, help }) =>
    `| \`${name}\` | ${type} | ${labels.map((label) => `\`${label}\``).join(', ')} | ${help} |`.replace('|  |', '| |'),
  );
  const table = readPage('README.md').match(/^\| `(?:\w+)` \| (?:counter|gauge|histogram) .*$/gm);
  expect(table).toEqual(rows);
});

test('the dashboard shows every metric, and it and the alerts know no other', () => {
  const queries = readDashboard().map(({ expr }) => expr);
  const unseen = METRICS.filter((metric) => !seriesOf(metric).some((name) => queries.join('\n').includes(name)));
  expect(unseen).toEqual([]);
  expect(findUnknownMetrics(queries.join('\n'))).toEqual([]);
  expect(
    findUnknownMetrics(
      readPage('alerts.yaml')
        .match(/expr: [\s\S]*?(?=\n +for:|\n +labels:)/g)
        ?.join('\n') ?? '',
    ),
  ).toEqual([]);
  expect(findUnknownMetrics('rate(usher_nothing_total[5m])')).toEqual(['usher_nothing_total']);
});

test('every alert says what it means, what to do, and how urgent it is', () => {
  const alerts = readPage('alerts.yaml').split('- alert: ').slice(1);
  expect(alerts.length).toBeGreaterThan(5);
  for (const alert of alerts)
    expect(alert).toMatch(/severity: (page|ticket) \}\n.*annotations:\n +summary: .+\n +runbook: .+/);
});

describe.skipIf(SKIPS_PROMETHEUS)('promtool', () => {
  test('finds the alerts well-formed, and each fires when it should', async () => {
    expect(await promtool(['check', 'rules', ALERTS])).toContain('SUCCESS');
    expect(await promtool(['test', 'rules', ALERT_TESTS])).toContain('SUCCESS');
    const tested = readPage('alerts.test.yaml');
    const alerts = [...readPage('alerts.yaml').matchAll(/- alert: (\w+)/g)].map(([, name = '']) => name);
    expect(alerts.filter((name) => !tested.includes(`alertname="${name}"`))).toEqual([]);
  });

  test('may end before it has read its input', async () => {
    expect(await promtool(['--version'], ' '.repeat(2 ** 22))).toContain('promtool');
  });

  test('finds the queries of the dashboard well-formed', async () => {
    const rules = readDashboard().map(({ expr }, index) => ({ record: `query:${index}`, expr }));
    const path = join(await createDirectory(), 'dashboard.json');
    await writeFile(path, JSON.stringify({ groups: [{ name: 'dashboard', rules }] }));
    expect(await promtool(['check', 'rules', path])).toContain(`SUCCESS: ${rules.length} rules found`);
  });
});
