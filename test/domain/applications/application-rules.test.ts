/** What the fields of an application may have, at the limits. */
import { describe, expect, test } from 'vitest';
import { applicationRules } from '../../../src/domain/applications/create-application.ts';
import { setApplicationLogo } from '../../../src/domain/applications/set-application-logo.ts';
import { check } from '../../../src/domain/core/validation.ts';

const REQUIRED = { name: 'App', redirectUris: ['https://app.test/'] };
/** Returns the names of the fields that are refused. */
function listRefused(fields: object): readonly string[] {
  try {
    check({ ...REQUIRED, ...fields }, applicationRules);
    return [];
  } catch (error) {
    return (error as { violations: { field: string }[] }).violations.map(({ field }) => field);
  }
}
const uriOf = (length: number, start = 'https://app.test/') => start.padEnd(length, 'a');

describe('the limit of', () => {
  test.each<[string, most: number, toValue: (count: number) => unknown]>([
    ['redirectUris', 2_048, (length) => [uriOf(length)]],
    ['termsUri', 2_048, uriOf],
    ['supportUri', 2_048, uriOf],
    ['initiateLoginUri', 2_048, uriOf],
    ['resourceUri', 2_048, uriOf],
    ['resourceScopes', 100, (length) => [{ name: 'n'.repeat(length), description: 'd' }]],
    ['resourceScopes', 100, (length) => [{ name: 'n', description: 'd'.repeat(length) }]],
    ['loginMethods', 23, (count) => Array.from({ length: count }, (_, at) => `method-${at}`)],
    ['sessionMaxAgeSeconds', 31_536_000, (seconds) => seconds],
  ])('%s is %d', (field, most, toValue) => {
    expect(listRefused({ [field]: toValue(most) })).toEqual([]);
    expect(listRefused({ [field]: toValue(most + 1) }).join()).toContain(field);
  });
});

describe('a URI', () => {
  test.each([
    ['termsUri', 'https://app.test/terms?a=b', true],
    ['termsUri', 'https://app.test:99999/', false],
    ['termsUri', 'https://user@app.test/', false],
    ['termsUri', 'https://:password@app.test/', false],
    ['resourceUri', 'https://api.test', true],
    ['resourceUri', 'https://api.test?a=b', true],
    ['resourceUri', 'https://api.test/a/b', true],
    ['resourceUri', 'http://localhost:3000/a', true],
    ['resourceUri', 'http://[::1]/', true],
    ['resourceUri', 'http://api.test/', false],
    ['resourceUri', 'ftp://localhost/', false],
    ['resourceUri', 'https://API.test/', false],
    ['resourceUri', 'https://api.test:443/', false],
    ['resourceUri', 'https://api.test/ü', false],
    ['resourceUri', 'https://api.test/#a', false],
    ['resourceUri', 'https://api.test:99999/', false],
    ['resourceUri', 'https://user@api.test/', false],
    ['resourceUri', 'https://:password@api.test/', false],
    ['resourceUri', 'https://@api.test/', false],
    ['resourceUri', 'https://api.test@api.test/', false],
    ['resourceUri', 'https://api.test:api.test@api.test/', false],
    ['resourceUri', 'https://api.test:', false],
    ['resourceUri', 'https:/api.test/', false],
    ['resourceUri', 'https:\\\\api.test/', false],
    ['resourceUri', 'https://api.test\\a', false],
  ])('%s %s: %s', (field, uri, isAccepted) => {
    expect(listRefused({ [field]: uri })).toEqual(isAccepted ? [] : [field]);
  });
});

test('a logo is no text', async () => {
  const run = () => Promise.reject(new Error('A statement'));
  const request = { applicationId: '00000000-0000-4000-8000-000000000000', theme: 'light', image: 'text' };
  const refused = setApplicationLogo({ run, now: new Date() }, request);
  await expect(refused).rejects.toMatchObject({ reason: 'VALIDATION_FAILED', violations: [{ field: 'image' }] });
});
