/** Which addresses of a provider count as the person's. */
import { expect, test } from 'vitest';
import { isEmailVerified, isOfDomains } from '../../../src/modules/providers/domain/verified-email.ts';

const GOOGLE = 'https://accounts.google.com';
const MICROSOFT = 'https://login.microsoftonline.com/9188040d-6c67-4c5b-b112-36a304b66dad/v2.0';
const verified = { email: 'ada@corp.test', email_verified: true };

test.each<[boolean, string, Record<string, unknown>]>([
  [true, 'https://acme.test', verified],
  [true, 'https://acme.test', { ...verified, email_verified: 'true' }],
  [true, 'https://acme.test', { ...verified, email_verified: 1 }],
  [false, 'https://acme.test', { ...verified, email_verified: false }],
  [false, 'https://acme.test', { ...verified, email_verified: 'false' }],
  [false, 'https://acme.test', { email: 'ada@corp.test' }],
  // An address elsewhere was Google's to check once only.
  [false, GOOGLE, verified],
  [true, GOOGLE, { ...verified, hd: 'corp.test' }],
  [false, GOOGLE, { ...verified, hd: 1 }],
  [true, GOOGLE, { ...verified, email: 'ada@GMail.com' }],
  [false, GOOGLE, { ...verified, email: 'ada@gmail.com.evil.test' }],
  [false, GOOGLE, { ...verified, email: 'ada@notgmail.com' }],
  [false, GOOGLE, { email: 'ada@gmail.com', email_verified: false }],
  // Whoever manages a directory sets any address there (nOAuth).
  [false, MICROSOFT, verified],
  [true, MICROSOFT, { email: 'ada@corp.test', xms_edov: true }],
  [true, MICROSOFT, { email: 'ada@corp.test', xms_edov: '1' }],
  [false, MICROSOFT, { ...verified, xms_edov: false }],
  [false, MICROSOFT, { ...verified, xms_edov: 'no' }],
])('%s for %s with %j', (expected, issuer, claims) => {
  expect(isEmailVerified(issuer, claims)).toBe(expected);
});

test.each<[boolean, string, string[]]>([
  [true, 'ada@corp.test', []],
  [true, 'ada@CORP.test', ['other.test', 'corp.test']],
  [false, 'ada@sub.corp.test', ['corp.test']],
  [false, 'ada@evilcorp.test', ['corp.test']],
  [false, '"ada@corp.test"@evil.test', ['corp.test']],
  [false, '', ['corp.test']],
])('%s for the domain of %s in %j', (expected, email, domains) => {
  expect(isOfDomains(email, domains)).toBe(expected);
});
