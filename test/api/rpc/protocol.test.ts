import { expect, test } from 'vitest';
import { readTimeout } from '../../../src/api/rpc/protocol.ts';

test.each<[value: string, milliseconds: number]>([
  ['0', 0],
  ['0250', 250],
  ['9999999999', 9_999_999_999],
  ...['', '-1', '+1', '1.5', '1e3', '0x10', '99999999999', '1 000', '5s', 'soon', '1,2'].map(
    (value): [string, number] => [value, Number.NaN],
  ),
])('a timeout of "%s" over Connect is %d ms', (value, expected) => {
  expect(readTimeout('connect', { headers: { 'connect-timeout-ms': value } })).toBe(expected);
});

test.each<[value: string, milliseconds: number]>([
  ['0m', 0],
  ['2H', 7_200_000],
  ['3M', 180_000],
  ['4S', 4_000],
  ['250m', 250],
  ['500u', 0.5],
  ['1000000n', 1],
  ['99999999H', 99_999_999 * 3_600_000],
  ...['', '5', 'S', '-1S', '1.5S', '123456789S', '1s', '1h', '1 S', '1SS', '0x1S', '1e3m', 'soon', '1S,2S'].map(
    (value): [string, number] => [value, Number.NaN],
  ),
])('a timeout of "%s" over gRPC and gRPC-Web is %d ms', (value, expected) => {
  for (const protocol of ['grpc', 'grpc-web'] as const)
    expect(readTimeout(protocol, { headers: { 'grpc-timeout': value } })).toBe(expected);
});

test.each([
  ['connect', 'grpc-timeout', '1S'],
  ['grpc', 'connect-timeout-ms', '1000'],
  ['grpc-web', 'connect-timeout-ms', '1000'],
] as const)('%s has no timeout without its header, nor from %s', (protocol, name, value) => {
  expect(readTimeout(protocol, { headers: {} })).toBeUndefined();
  expect(readTimeout(protocol, { headers: { [name]: value } })).toBeUndefined();
});
