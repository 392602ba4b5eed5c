/** What the token endpoint takes for a form, and for the credential of a client. */
import { describe, expect, test } from 'vitest';
import { OidcError } from '../../../../src/modules/oidc/domain/oidc-error.ts';
import { parseForm, readClientCredentials } from '../../../../src/modules/oidc/endpoints/client-credentials.ts';

const basic = (text: string) => `Basic ${Buffer.from(text).toString('base64')}`;

function errorOf(work: () => unknown): string {
  try {
    work();
  } catch (error) {
    if (error instanceof OidcError) return error.reason;
    throw error;
  }
  return 'none';
}

describe('a credential', () => {
  test.each([
    ['in the header', basic('client_1:usk_2'), ''],
    ['with every character form-encoded, as some clients do', basic('client%5F1:usk%5F2'), ''],
    ['in the header, with the client ID in the form, too', basic('client_1:usk_2'), 'client_id=client_1'],
    ['in the header, the scheme in lower case', basic('client_1:usk_2').replace('Basic', 'basic'), ''],
    ['in the form', undefined, 'client_id=client_1&client_secret=usk_2'],
  ])('is read %s', (_where, header, form) => {
    expect(readClientCredentials(header, parseForm(form))).toEqual({ clientId: 'client_1', secret: 'usk_2' });
  });

  test('may have an empty secret in the header, which is none', () => {
    expect(readClientCredentials(basic('client_1:'), parseForm(''))).toEqual({
      clientId: 'client_1',
      secret: undefined,
    });
  });

  test('may lack the secret in the form', () => {
    expect(readClientCredentials(undefined, parseForm('client_id=client_1&client_secret='))).toEqual({
      clientId: 'client_1',
      secret: undefined,
    });
  });

  test('has each half decoded by itself', () => {
    expect(readClientCredentials(basic('a+b%3Ac:d%25e'), parseForm(''))).toEqual({ clientId: 'a b:c', secret: 'd%e' });
  });

  test.each([
    ['comes twice', basic('client_1:usk_2'), 'client_secret=usk_2'],
    ['names two clients', basic('client_1:usk_2'), 'client_id=client_2'],
    ['is missing', undefined, 'client_secret=usk_2'],
  ])('that %s is an invalid request', (_what, header, form) => {
    expect(errorOf(() => readClientCredentials(header, parseForm(form)))).toBe('invalid_request');
  });

  test.each([
    'Basic',
    'Basic ',
    'Basic !!!!',
    'Bearer uat_1',
    '',
    basic('client_1'),
    basic(':usk_2'),
    basic('a:b:c'),
    basic('%:usk_2'),
    basic('client_1:%ff'),
  ])('is invalid as the header "%s"', (header) => {
    expect(errorOf(() => readClientCredentials(header, parseForm('')))).toBe('invalid_client');
  });
});

test.each(['code=1&code=2', 'code=1&code=1', 'a=&a=', 'code=%00', 'other=1&other=2'])(
  'the form %s is an invalid request',
  (text) => {
    expect(errorOf(() => parseForm(text))).toBe('invalid_request');
  },
);

test('a field without a value is missing', () => {
  expect(parseForm('code=&scope=openid&empty')).toEqual(new Map([['scope', 'openid']]));
});
