import { expect, test } from 'vitest';
import { createBlockList } from '../../../src/domain/webhooks/address-policy.ts';
import { clientAddressOf } from '../../../src/http/request-head.ts';

const LOOPBACK = '127.0.0.1';

test.each([
  { trusted: [], forwarded: '203.0.113.9', address: LOOPBACK },
  { trusted: ['10.0.0.0/8'], forwarded: '203.0.113.9', address: LOOPBACK },
  { trusted: [LOOPBACK], forwarded: undefined, address: LOOPBACK },
  { trusted: [LOOPBACK], forwarded: '', address: LOOPBACK },
  { trusted: [LOOPBACK], forwarded: '203.0.113.9', address: '203.0.113.9' },
  { trusted: [LOOPBACK], forwarded: '203.0.113.9:4711', address: '203.0.113.9' },
  { trusted: [LOOPBACK], forwarded: '[2001:db8::9]:4711', address: '2001:db8::9' },
  { trusted: [LOOPBACK], forwarded: '[2001:db8::9]', address: '2001:db8::9' },
  { trusted: ['127.0.0.0/8'], forwarded: '198.51.100.7, 203.0.113.9', address: '203.0.113.9' },
  { trusted: [LOOPBACK, '203.0.113.0/24'], forwarded: '198.51.100.7,203.0.113.9', address: '198.51.100.7' },
  { trusted: [LOOPBACK, '203.0.113.0/24'], forwarded: '1.1.1.1, 198.51.100.7, 203.0.113.9', address: '198.51.100.7' },
  { trusted: ['127.0.0.0/8'], forwarded: '127.0.0.3, 127.0.0.2', address: '127.0.0.3' },
  { trusted: [LOOPBACK], forwarded: 'unknown', address: LOOPBACK },
  { trusted: [LOOPBACK], forwarded: '198.51.100.7, unknown', address: LOOPBACK },
  { trusted: [LOOPBACK], forwarded: '203.0.113.256', address: LOOPBACK },
  { trusted: [LOOPBACK], forwarded: '2001:db8::1', address: '2001:db8::1' },
  { trusted: [LOOPBACK, '2001:db8::/32'], forwarded: '198.51.100.7, 2001:db8::1', address: '198.51.100.7' },
  { trusted: [LOOPBACK], forwarded: '::ffff:203.0.113.9', address: '203.0.113.9' },
])('is $address when $trusted is trusted and X-Forwarded-For is $forwarded', ({ trusted, forwarded, address }) => {
  expect(clientAddressOf(LOOPBACK, forwarded, createBlockList(trusted))).toBe(address);
  // A socket that listens on IPv6 reports IPv4 addresses in this form.
  expect(clientAddressOf(`::ffff:${LOOPBACK}`, forwarded, createBlockList(trusted))).toBe(address);
});
