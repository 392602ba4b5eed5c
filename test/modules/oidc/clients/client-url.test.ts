/** Which client IDs are URLs of metadata, and which hosts the operator allows. */
import { expect, test } from 'vitest';
import {
  describeRefusal,
  matchClient,
  matchHost,
  parseClientHosts,
  toLogged,
} from '../../../../src/modules/oidc/clients/client-url.ts';

test.each([
  ['client.test', 'client.test', 'named'],
  ['client.test', 'a.client.test', undefined],
  ['*.client.test', 'a.b.client.test', 'wildcard'],
  ['*.client.test', 'client.test', undefined],
  ['*.client.test', 'evilclient.test', undefined],
  ['*', 'any.test', 'wildcard'],
  // A name with an asterisk is one, and must not open an internal address.
  ['*.client.test', '*.client.test', 'wildcard'],
  ['*, any.test', 'any.test', 'named'],
])('CLIENT_METADATA_HOSTS=%s allows %s: %s', (text, host, match) => {
  expect(matchHost(parseClientHosts(text), host)).toBe(match);
});

test.each([
  'https://client.test',
  'client.test/a',
  '*client.test',
  'a.*.test',
  'client.test:443',
  '*.',
  '127.0.0.1',
  '*.0.0.1',
  '',
  ',',
])('CLIENT_METADATA_HOSTS may not be %s', (text) => expect(() => parseClientHosts(text)).toThrow('must be hosts'));

const HOSTS = parseClientHosts('*.client.test');

test.each<[string, string, string]>([
  ['of 512 characters', 'https://c.client.test/'.padEnd(512, 'a'), 'c.client.test'],
  ['of 513 characters', 'https://c.client.test/'.padEnd(513, 'a'), 'it is longer than 512 characters'],
  ['with a space', 'https://c.client.test/a b', 'it is no https URL'],
  ['that no parser takes', 'https://[/client', 'it is no https URL'],
  ['with a port', 'https://c.client.test:8443/client', 'it has the port 8443'],
  ['with a user name', 'https://a@c.client.test/client', 'it has a user name or a password'],
  ['with a password alone', 'https://:b@c.client.test/client', 'it has a user name or a password'],
  ['with a fragment', 'https://c.client.test/client#', 'it has a fragment or a backslash'],
  ['with a backslash', 'https://c.client.test/a\\b', 'it has a fragment or a backslash'],
  ['without a path', 'https://c.client.test/?a', 'it has no path'],
  ['with the usual port', 'https://c.client.test:443/client', 'a URL parser writes it otherwise'],
  ['of another host', 'https://c.other.test/client', 'its host is not in CLIENT_METADATA_HOSTS'],
])('a client ID %s is known by its host, or refused with the reason', (_, clientId, expected) => {
  const found = matchClient(HOSTS, clientId);
  expect('host' in found ? found.host : found.problem).toBe(expected);
});

test('without CLIENT_METADATA_HOSTS no client ID is a URL', () => {
  expect(matchClient(undefined, 'https://c.client.test/client')).toEqual({
    problem: 'CLIENT_METADATA_HOSTS is not set',
  });
});

test.each([
  ['https://c.client.test:1/a', 'client refused, gone (host c.client.test:1, client_id https://c.client.test:1/a)'],
  ['https://[/a', 'client refused, gone (client_id https://[/a)'],
])('the log names the host of %s if it has one', (clientId, line) => {
  expect(describeRefusal(clientId, 'gone')).toBe(line);
});

test.each([
  ['https://ada:secret@app.test/?code=secret&a', 'https://…@app.test/?code=…&a'],
  ['a'.repeat(301), 'a'.repeat(300)],
])('the log has of %s no secret, and 300 characters', (url, logged) => {
  expect(toLogged(url)).toBe(logged);
});
