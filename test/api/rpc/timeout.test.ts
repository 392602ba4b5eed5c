import { describe, expect, test } from 'vitest';
import { takeTimeout } from '../../../src/api/rpc/timeout.ts';

describe('the timeout of a caller is taken out of the headers', () => {
  test.each<['connect' | 'grpc' | 'grpc-web', string, string, number]>([
    ['connect', 'connect-timeout-ms', '0', 0],
    ['connect', 'connect-timeout-ms', '1', 1],
    ['connect', 'connect-timeout-ms', '0250', 250],
    ['connect', 'Connect-Timeout-Ms', '5000', 5_000],
    ['connect', 'connect-timeout-ms', '9999999999', 9_999_999_999],
    ...(['grpc', 'grpc-web'] as const).flatMap((protocol): ['grpc' | 'grpc-web', string, string, number][] => [
      [protocol, 'grpc-timeout', '0m', 0],
      [protocol, 'grpc-timeout', '2H', 7_200_000],
      [protocol, 'grpc-timeout', '3M', 180_000],
      [protocol, 'grpc-timeout', '4S', 4_000],
      [protocol, 'grpc-timeout', '250m', 250],
      [protocol, 'grpc-timeout', '500u', 0.5],
      [protocol, 'Grpc-Timeout', '1000000n', 1],
      [protocol, 'grpc-timeout', '99999999H', 99_999_999 * 3_600_000],
    ]),
  ])('over %s, of %s: %s', (protocol, name, value, expected) => {
    const headers = new Headers({ [name]: value, 'x-api-key': 'key' });
    expect(takeTimeout(protocol, headers)).toBeCloseTo(expected, 9);
    expect([...headers.keys()]).toEqual(['x-api-key']);
  });
});

describe('what is no timeout is left for the protocol to refuse', () => {
  test.each<['connect' | 'grpc' | 'grpc-web', string, string]>([
    ...['', '-1', '+1', '1.5', '1e3', '0x10', '99999999999', '1 000', '5s', 'soon', '1,2'].map(
      (value): ['connect', string, string] => ['connect', 'connect-timeout-ms', value],
    ),
    ...['', '5', 'S', '-1S', '1.5S', '123456789S', '1s', '1h', '1 S', '1SS', '0x1S', '1e3m', 'soon', '1S,2S'].flatMap(
      (value): ['grpc' | 'grpc-web', string, string][] => [
        ['grpc', 'grpc-timeout', value],
        ['grpc-web', 'grpc-timeout', value],
      ],
    ),
  ])('over %s, of %s: "%s"', (protocol, name, value) => {
    const headers = new Headers({ [name]: value });
    expect(takeTimeout(protocol, headers)).toBeUndefined();
    expect(headers.get(name)).toBe(value);
  });
});

describe('there is no timeout', () => {
  test.each(['connect', 'grpc', 'grpc-web'] as const)('over %s without a header', (protocol) => {
    expect(takeTimeout(protocol, new Headers())).toBeUndefined();
  });

  test.each([
    ['connect', 'grpc-timeout', '1S'],
    ['grpc', 'connect-timeout-ms', '1000'],
    ['grpc-web', 'connect-timeout-ms', '1000'],
  ] as const)('over %s in the header %s of another protocol', (protocol, name, value) => {
    const headers = new Headers({ [name]: value });
    expect(takeTimeout(protocol, headers)).toBeUndefined();
    expect(headers.get(name)).toBe(value);
  });
});
