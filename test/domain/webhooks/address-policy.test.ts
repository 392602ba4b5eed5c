/** The targets that webhooks must not reach, in every range and every spelling. */
import { expect, test } from 'vitest';
import { AddressPolicy, findUrlProblem, hostOf } from '../../../src/domain/webhooks/address-policy.ts';
import { FORBIDDEN_ADDRESSES, FORBIDDEN_SPELLINGS, FORBIDDEN_URLS } from '../../support/forbidden-targets.ts';

const policy = new AddressPolicy([]);

/** The addresses just outside of the forbidden ranges. */
const PUBLIC_V4 = `
  1.0.0.0 9.255.255.255 11.0.0.0 100.63.255.255 100.128.0.0 126.255.255.255 128.0.0.0 168.63.129.15 168.63.129.17
  169.253.255.255 169.255.0.0 172.15.255.255 172.32.0.0 192.0.1.0 192.0.3.0 192.88.98.255 192.88.100.0 192.167.255.255
  192.169.0.0 198.17.255.255 198.20.0.0 198.51.99.255 198.51.101.0 203.0.112.255 203.0.114.0 223.255.255.255 8.8.8.8`;

const PUBLIC_V6 = `
  2000::1 2001:200::1 2001:4860:4860::8888 2001:db7::1 2001:db9::1 2003::1 2606:4700::1111 2a00:1450::5efe:8.8.8.8
  2a00:1450::1:5efe:10.0.0.1 2a00:1450::ffff:10.0.0.1
  3ffe::1 3fff:1000::1 ::ffff:8.8.8.8 64:ff9b::8.8.8.8`;

const list = (text: string) => text.trim().split(/\s+/);

test('forbids the first and last address of every special range, and every IPv6 form of them', () => {
  const forbidden = [...FORBIDDEN_ADDRESSES, '2001:db8::ffff:8.8.8.8', '', 'localhost', '1', 'example.com'];
  expect(forbidden.length).toBeGreaterThanOrEqual(85);
  expect(forbidden.filter((address) => policy.allows(address))).toEqual([]);
});

test('allows the addresses just outside of the forbidden ranges', () => {
  const allowed = [...list(PUBLIC_V4), ...list(PUBLIC_V6)];
  expect(allowed.filter((address) => !policy.allows(address))).toEqual([]);
});

test.each(['https', 'http'])('finds a problem with every spelling of a forbidden address over %s', (scheme) => {
  const accepted = FORBIDDEN_SPELLINGS.filter((host) => !findUrlProblem(`${scheme}://${host}/hook`, policy));
  expect(accepted).toEqual([]);
});

test.each([...FORBIDDEN_URLS, ['https://', 'absolute'] as const])('finds a problem with %s', (url, problem) => {
  expect(findUrlProblem(url, policy)).toContain(problem);
});

test.each([
  'https://hooks.test/usher?a=b#c',
  'https://hooks.test:443/',
  'https://hooks.test:80/',
  'https://hooks.test:1024/',
  'https://8.8.8.8/',
  'https://[2606:4700::1111]:8443/',
  'https://localhost.example.com/',
])('accepts %s', (url) => {
  expect(findUrlProblem(url, policy)).toBeUndefined();
});

test('allows the networks of the operator, over plain http too, and nothing else', () => {
  const local = new AddressPolicy(['127.0.0.0/8', '::1/128', '10.1.2.3', 'fd00::1']);
  const accepted = [
    'http://127.0.0.1:4000/',
    'http://[::1]:4000/',
    'https://10.1.2.3/',
    'http://2130706433/',
    'http://[fd00::1]/',
  ];
  expect(accepted.filter((url) => findUrlProblem(url, local))).toEqual([]);
  expect(findUrlProblem('http://localhost:4000/', local)).toBeUndefined();
  expect(findUrlProblem('http://receiver.internal:4000/', local)).toBeUndefined();
  const refused = [
    'http://10.1.2.4/',
    'http://[fd00::2]/',
    'http://8.8.8.8/',
    'https://192.168.0.1/',
    'http://127.0.0.1:22/',
  ];
  expect(refused.filter((url) => !findUrlProblem(url, local))).toEqual([]);
  expect(local.isException(hostOf(new URL('http://[::ffff:127.0.0.1]/')))).toBe(true);
});
