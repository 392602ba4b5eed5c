import { expect, test } from 'vitest';
import { parseLoginProviders } from '../../../src/modules/providers/parse-login-providers.ts';

const acme = { id: 'acme', name: 'Acme', issuer: 'https://acme.test', clientId: 'usher', clientSecret: 'secret' };
const parse = (...entries: unknown[]) => parseLoginProviders(JSON.stringify(entries));

test('an entry needs five fields, and has defaults for the others', () => {
  expect(parse(acme)).toEqual([{ ...acme, type: 'openid', trustEmail: false, emailDomains: [] }]);
  const github = { id: 'github', name: 'GitHub', type: 'github', clientId: 'usher', clientSecret: 'secret' };
  expect(parse(github)).toMatchObject([{ issuer: 'https://github.com/login/oauth' }]);
  expect(parse({ ...acme, issuer: 'http://127.0.0.1:8080/realm' })).toHaveLength(1);
});

test('an entry keeps its second factors', () => {
  const more = { assurance: { amr: { mfa: 2 }, acr: { phr: 3 } }, stepUp: { acr_values: 'phr' } };
  expect(parse({ ...acme, ...more })).toMatchObject([more]);
});

test('a file may have 20 entries, whose issuers, domains and methods are of several kinds', () => {
  const entries = Array.from({ length: 20 }, (_, at) => ({
    ...acme,
    id: `acme-${at}`,
    issuer: `https://${at}.acme.test`,
  }));
  expect(parse(...entries)).toHaveLength(20);
  const issuers = ['http://localhost/', 'http://[::1]:8080', 'https://acme.test/realm'];
  for (const issuer of issuers) expect(parse({ ...acme, issuer })).toMatchObject([{ issuer }]);
  const more = { emailDomains: ['corp.test', 'Bücher.example'], tokenEndpointAuthMethod: 'client_secret_post' };
  expect(parse({ ...acme, ...more })).toMatchObject([more]);
  const enterprise = { ...acme, type: 'github', issuer: 'https://git.test/login/oauth' };
  expect(parse(enterprise)).toMatchObject([enterprise]);
});

test('refuses a field that is there twice', () => {
  const text = JSON.stringify([acme]).replace('{', '{"id":"acme",');
  expect(() => parseLoginProviders(text)).toThrow('must not have a field twice');
});

test.each<[string, unknown[]]>([
  ['entry 1 must be an object', [null]],
  ['entry 1: id must begin', [{ ...acme, id: ['acme'] }]],
  ['entry 1: clientId must have', [{ ...acme, clientId: 'a b' }]],
  ['entry 1: emailDomains must be domains', [{ ...acme, emailDomains: 'corp.test' }]],
  ['entry 1: emailDomains must be domains', [{ ...acme, emailDomains: [['corp.test']] }]],
  ['entry 1: emailDomains must be domains', [{ ...acme, emailDomains: ['corp.test', 'corp'] }]],
  ['entry 1: issuer must be an https URL', [{ ...acme, issuer: ['https://acme.test'] }]],
  ['entry 1: issuer must be an https URL', [{ ...acme, issuer: 'acme.test' }]],
  ['entry 1: issuer must be an https URL', [{ ...acme, issuer: 'https://acme.test?' }]],
  ['entry 1: issuer must be an https URL', [{ ...acme, issuer: 'https://:secret@acme.test' }]],
  ['entry 1: issuer must be an https URL', [{ ...acme, issuer: 'ftp://localhost' }]],
  ['must hold a JSON array of at most 20 providers', Array.from({ length: 21 }, () => acme)],
  ['entry 1 must be an object', ['acme']],
  ['entry 2 has an unknown field', [acme, { ...acme, client_id: 'usher' }]],
  ['entry 1: id must begin with a letter and have at most 31 characters of a-z, 0-9 and -', [{ ...acme, id: 'Acme' }]],
  ['entry 1: id must not be one of', [{ ...acme, id: 'email' }]],
  ['entry 1: name must have 1 to 40 characters', [{ ...acme, name: 'A\u202ecme' }]],
  ['entry 1: issuer must be an https URL', [{ ...acme, issuer: 'http://acme.test' }]],
  ['entry 1: issuer must be an https URL', [{ ...acme, issuer: undefined }]],
  ['entry 1: issuer must be an https URL', [{ ...acme, issuer: 'https://user@acme.test' }]],
  ['entry 1: type must be openid or github', [{ ...acme, type: 'saml' }]],
  ['entry 1: clientSecret must have', [{ ...acme, clientSecret: '' }]],
  ['entry 1: trustEmail must be true or false', [{ ...acme, trustEmail: 'yes' }]],
  ['entry 1: emailDomains must be domains', [{ ...acme, emailDomains: ['@corp.test'] }]],
  ['entry 1: tokenEndpointAuthMethod must be', [{ ...acme, tokenEndpointAuthMethod: 'private_key_jwt' }]],
  [
    'entry 1: tokenEndpointAuthMethod is for the type openid',
    [{ ...acme, type: 'github', tokenEndpointAuthMethod: 'client_secret_post' }],
  ],
  ['entry 1: assurance must have 1 to 4 claims', [{ ...acme, assurance: { amr: { mfa: 1 } } }]],
  [
    'entry 1: stepUp must have 1 to 4 parameters',
    [{ ...acme, assurance: { amr: { mfa: 2 } }, stepUp: { prompt: 'x' } }],
  ],
  ['entry 1: stepUp must have .* and needs assurance', [{ ...acme, stepUp: { acr_values: 'phr' } }]],
  ['entry 1: assurance is for the type openid', [{ ...acme, type: 'github', assurance: { amr: { mfa: 2 } } }]],
  [
    'entry 1: assurance is for the type openid',
    [{ ...acme, type: 'github', assurance: { amr: { mfa: 2 } }, stepUp: { acr_values: 'phr' } }],
  ],
  ['must not hold two providers with the same id', [acme, { ...acme, issuer: 'https://other.test' }]],
  ['must not hold two providers with the same issuer', [acme, { ...acme, id: 'other' }]],
])('refuses: %s', (problem, entries) => {
  expect(() => parse(...entries)).toThrow(new RegExp(problem));
});

test.each(['secret', '{"length":1}'])('refuses %s, without quoting it', (text) => {
  expect(() => parseLoginProviders(text)).toThrow(/^must hold a JSON array of at most 20 providers$/);
});
