import { expect, test } from 'vitest';
import { SETTINGS } from '../../src/config/settings.ts';
import { findMisspeltSettings } from '../../src/config/unused-settings.ts';

const names = Object.values(SETTINGS).map(({ name }) => name);

test.each([
  ['SMPT_URL', 'SMTP_URL'],
  ['CORS_ORIGIN', 'CORS_ORIGINS'],
  ['PUBLIC_URI', 'PUBLIC_URL'],
  ['MIGRATE_ONSTART', 'MIGRATE_ON_START'],
])('%s is taken for a slip in %s', (variable, setting) => {
  expect(findMisspeltSettings(names, ['PATH', variable])).toEqual([{ variable, setting }]);
});

test('settings, and variables of other programs, are none', () => {
  const others = ['POST', 'HOSTS', 'SMTP_USER', 'DATABASE_USER', 'LOG_FORMAT', 'USHER_PORT', 'API_KEY', 'CLIENT_ID'];
  expect(findMisspeltSettings(names, [...others, ...names])).toEqual([]);
});
