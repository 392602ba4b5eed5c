import { describe, expect, test } from 'vitest';
import { takeTimeout } from '../../../src/api/rpc/timeout.ts';

type Protocol = Parameters<typeof takeTimeout>[0];

const CONNECT: readonly Protocol[] = ['connect'];
const GRPC: readonly Protocol[] = ['grpc', 'grpc-web'];

test.each<[string, string, number, readonly Protocol[]]>([
  ['connect-timeout-ms', '0', 0, CONNECT],
  ['Connect-Timeout-Ms', '0250', 250, CONNECT],
  ['connect-timeout-ms', '9999999999', 9_999_999_999, CONNECT],
  ['grpc-timeout', '0m', 0, GRPC],
  ['grpc-timeout', '2H', 7_200_000, GRPC],
  ['grpc-timeout', '3M', 180_000, GRPC],
  ['grpc-timeout', '4S', 4_000, GRPC],
  ['grpc-timeout', '250m', 250, GRPC],
  ['grpc-timeout', '500u', 0.5, GRPC],
  ['Grpc-Timeout', '1000000n', 1, GRPC],
  ['grpc-timeout', '99999999H', 99_999_999 * 3_600_000, GRPC],
])('%s: %s is %d ms, and leaves the headers', (name, value, expected, protocols) => {
  for (const protocol of protocols) {
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

function expectLeft(protocol: Protocol, name: string, value: string): void {
  const headers = new Headers({ [name]: value });
  expect(takeTimeout(protocol, headers)).toBeUndefined();
  expect(headers.get(name)).toBe(value);
}
