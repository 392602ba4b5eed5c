import { describe, expect, test } from 'vitest';
import { takeTimeout } from '../../../src/api/rpc/timeout.ts';

const GRPC = ['grpc', 'grpc-web'] as const;

describe('the timeout of the caller is read and removed from the headers', () => {
  test.each([
    ['connect-timeout-ms', '0', 0],
    ['Connect-Timeout-Ms', '0250', 250],
    ['connect-timeout-ms', '9999999999', 9_999_999_999],
  ])('over Connect, from %s: %s', (name, value, expected) => {
    expectTaken('connect', name, value, expected);
  });

  test.each([
    ['grpc-timeout', '0m', 0],
    ['grpc-timeout', '2H', 7_200_000],
    ['grpc-timeout', '3M', 180_000],
    ['grpc-timeout', '4S', 4_000],
    ['grpc-timeout', '250m', 250],
    ['grpc-timeout', '500u', 0.5],
    ['Grpc-Timeout', '1000000n', 1],
    ['grpc-timeout', '99999999H', 99_999_999 * 3_600_000],
  ])('over gRPC and gRPC-Web, from %s: %s', (name, value, expected) => {
    for (const protocol of GRPC) expectTaken(protocol, name, value, expected);
  });

  function expectTaken(protocol: Protocol, name: string, value: string, expected: number): void {
    const headers = new Headers({ [name]: value, 'x-api-key': 'key' });
    expect(takeTimeout(protocol, headers)).toBeCloseTo(expected, 9);
    expect([...headers.keys()]).toEqual(['x-api-key']);
  }
});

describe('a malformed timeout stays in the headers, for the protocol to refuse', () => {
  test.each(['', '-1', '+1', '1.5', '1e3', '0x10', '99999999999', '1 000', '5s', 'soon', '1,2'])(
    'over Connect: "%s"',
    (value) => expectLeft('connect', 'connect-timeout-ms', value),
  );

  test.each(['', '5', 'S', '-1S', '1.5S', '123456789S', '1s', '1h', '1 S', '1SS', '0x1S', '1e3m', 'soon', '1S,2S'])(
    'over gRPC and gRPC-Web: "%s"',
    (value) => {
      for (const protocol of GRPC) expectLeft(protocol, 'grpc-timeout', value);
    },
  );
});

test.each([
  ['connect', 'grpc-timeout', '1S'],
  ['grpc', 'connect-timeout-ms', '1000'],
  ['grpc-web', 'connect-timeout-ms', '1000'],
] as const)('%s has no timeout without its header, nor from %s', (protocol, name, value) => {
  expect(takeTimeout(protocol, new Headers())).toBeUndefined();
  expectLeft(protocol, name, value);
});

type Protocol = Parameters<typeof takeTimeout>[0];

function expectLeft(protocol: Protocol, name: string, value: string): void {
  const headers = new Headers({ [name]: value });
  expect(takeTimeout(protocol, headers)).toBeUndefined();
  expect(headers.get(name)).toBe(value);
}
