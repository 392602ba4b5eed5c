/** The targets that webhooks must not reach, in every range and every spelling. */
import { expect, test } from 'vitest';
import { AddressPolicy } from '../../../src/domain/webhooks/address-policy.ts';
import { findUrlProblem, hostOf } from '../../../src/domain/webhooks/webhook-url.ts';

const policy = new AddressPolicy([]);

/** The first and last addresses of every forbidden range. */
const FORBIDDEN_V4 = `
  0.0.0.0 0.255.255.255 10.0.0.0 10.255.255.255 100.64.0.0 100.127.255.255 127.0.0.0 127.0.0.1 127.255.255.255
  168.63.129.16 169.254.0.0 169.254.169.254 169.254.255.255 172.16.0.0 172.31.255.255 192.0.0.0 192.0.0.255 192.0.2.0
  192.0.2.255 192.88.99.0 192.88.99.255 192.168.0.0 192.168.255.255 198.18.0.0 198.19.255.255 198.51.100.0
  198.51.100.255 203.0.113.0 203.0.113.255 224.0.0.0 239.255.255.255 240.0.0.0 255.255.255.255`;

/** The addresses just outside of the forbidden ranges. */
const PUBLIC_V4 = `
  1.0.0.0 9.255.255.255 11.0.0.0 100.63.255.255 100.128.0.0 126.255.255.255 128.0.0.0 168.63.129.15 168.63.129.17
  169.253.255.255 169.255.0.0 172.15.255.255 172.32.0.0 192.0.1.0 192.0.3.0 192.88.98.255 192.88.100.0 192.167.255.255
  192.169.0.0 198.17.255.255 198.20.0.0 198.51.99.255 198.51.101.0 203.0.112.255 203.0.114.0 223.255.255.255 8.8.8.8`;

const FORBIDDEN_V6 = `
  :: ::1 ::2 ::127.0.0.1 ::8.8.8.8 ::ffff:127.0.0.1 ::ffff:7f00:1 0:0:0:0:0:ffff:0a00:0001 ::ffff:169.254.169.254
  ::ffff:0:8.8.8.8 64:ff9b::127.0.0.1 64:ff9b::7f00:1 64:ff9b::10.0.0.1 64:ff9b::169.254.169.254 64:ff9b:1::1
  64:ff9b:1::8.8.8.8 100::1 100:0:0:1::1 1fff:ffff::1 2001::1 2001:0:7f00:1::1 2001:1::1 2001:10::1 2001:20::1
  2001:1ff:ffff::1 2001:db8::1 2001:db8:ffff::1 2002:7f00:1:: 2002:a00:1::1 2002:808:808::1 3fff::1 3fff:fff::1
  4000::1 5f00::1 fc00::1 fd00::1 fd00:ec2::254 fdff:ffff::1 fe80::1 fe80::1%eth0 febf::1 fec0::1 ff00::1 ff02::1
  ::5efe:7f00:1 ::200:5efe:127.0.0.1 fe80::5efe:a00:1 2a00:1450::5efe:127.0.0.1 2a00:1450::5efe:10.0.0.1
  2a00:1450::200:5efe:192.168.0.1 ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff`;

const PUBLIC_V6 = `
  2000::1 2001:200::1 2001:4860:4860::8888 2001:db7::1 2001:db9::1 2003::1 2606:4700::1111 2a00:1450::5efe:8.8.8.8
  3ffe::1 3fff:1000::1 ::ffff:8.8.8.8 64:ff9b::8.8.8.8`;

const list = (text: string) => text.trim().split(/\s+/);

test('forbids the first and last address of every special range, and every IPv6 form of them', () => {
  const forbidden = [...list(FORBIDDEN_V4), ...list(FORBIDDEN_V6), '', 'localhost', '1', 'example.com'];
  expect(forbidden.length).toBeGreaterThanOrEqual(85);
  expect(forbidden.filter((address) => policy.allows(address))).toEqual([]);
});

test('allows the addresses just outside of the forbidden ranges', () => {
  const allowed = [...list(PUBLIC_V4), ...list(PUBLIC_V6)];
  expect(allowed.filter((address) => !policy.allows(address))).toEqual([]);
});

/** Spellings of 127.0.0.1, 10.0.0.1, 169.254.169.254 and others that the URL parser understands. */
const SPELLINGS = [
  ...[
    '127.0.0.1',
    '127.1',
    '127.0.1',
    '2130706433',
    '0x7f000001',
    '0x7f.1',
    '0X7F.0.0.1',
    '017700000001',
    '0177.0.0.01',
  ],
  ...['127.0.0.1.', '0x7f.0x0.0x0.0x1', '00000177.1', '%31%32%37.0.0.1', '１２７.0.0.1', '127。0。0。1', '①②⑦.0.0.①'],
  ...['0', '0.0', '0x0', '167772161', '0xa000001', '10.1', '012.1', '2852039166', '0xa9fea9fe', '0251.0376.0251.0376'],
  ...['169.254.43518', '3232235521', '0xc0a80001', '192.168.257', '4294967295', '0xffffffff'],
  ...[
    '[::1]',
    '[::]',
    '[0:0:0:0:0:0:0:1]',
    '[::ffff:127.0.0.1]',
    '[::FFFF:7F00:1]',
    '[::ffff:0x7f.1]',
    '[::127.0.0.1]',
  ],
  ...['[64:ff9b::7f00:1]', '[2002:7f00:1::]', '[fe80::1]', '[fc00::1]', '[2001:db8::1]', '[::5efe:7f00:1]'],
  ...['localhost', 'LOCALHOST', 'localhost.', 'metadata.localhost', 'loc%61lhost', 'ｌｏｃａｌｈｏｓｔ'],
];

test.each(['https', 'http'])('finds a problem with every spelling of a forbidden address over %s', (scheme) => {
  const accepted = SPELLINGS.filter((host) => !findUrlProblem(`${scheme}://${host}/hook`, policy));
  expect(accepted).toEqual([]);
});

test.each([
  ['https://user@hooks.test/', 'user information'],
  ['https://user:password@hooks.test/', 'user information'],
  ['https://:password@hooks.test/', 'user information'],
  ['https://8.8.8.8@127.0.0.1/', 'user information'],
  ...[1, 22, 25, 79, 81, 442, 444, 1023].map((port) => [`https://hooks.test:${port}/`, 'port']),
  ['http://hooks.test/', 'https'],
  ['http://8.8.8.8/', 'https'],
  ['https://', 'absolute'],
])('finds a problem with %s', (url, problem) => {
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
  const local = new AddressPolicy(['127.0.0.0/8', '::1/128', '10.1.2.3']);
  const accepted = ['http://127.0.0.1:4000/', 'http://[::1]:4000/', 'https://10.1.2.3/', 'http://2130706433/'];
  expect(accepted.filter((url) => findUrlProblem(url, local))).toEqual([]);
  expect(findUrlProblem('http://localhost:4000/', local)).toBeUndefined();
  expect(findUrlProblem('http://receiver.internal:4000/', local)).toBeUndefined();
  const refused = ['http://10.1.2.4/', 'http://8.8.8.8/', 'https://192.168.0.1/', 'http://127.0.0.1:22/'];
  expect(refused.filter((url) => !findUrlProblem(url, local))).toEqual([]);
  expect(local.isException(hostOf(new URL('http://[::ffff:127.0.0.1]/')))).toBe(true);
});
