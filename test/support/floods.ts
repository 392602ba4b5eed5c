/** What an endpoint may send without end: the beginning of a response, and what it repeats. */
const CHUNKED = 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n';

export const FLOOD_PARTS: Readonly<Record<string, readonly [first: string, next: string]>> = {
  body: ['HTTP/1.1 200 OK\r\ncontent-length: 999999999999\r\n\r\n', 'a'],
  'early-hints': ['', 'HTTP/1.1 103 Early Hints\r\n\r\n'],
  'early-hints-with-headers': ['', `HTTP/1.1 103 Early Hints\r\n${'a: b\r\n'.repeat(500)}\r\n`],
  continues: ['', 'HTTP/1.1 100 Continue\r\n\r\n'],
  processing: ['', 'HTTP/1.1 102 Processing\r\n\r\n'],
  'line-breaks': ['', '\r\n'],
  headers: ['HTTP/1.1 200 OK\r\n', 'a: b\r\n'],
  'chunk-sizes': [CHUNKED, '0'],
  'chunk-extensions': [CHUNKED, `1;${'a=b;'.repeat(1_000)}\r\na\r\n`],
  'tiny-chunks': [CHUNKED, '1\r\na\r\n'],
  trailers: [`${CHUNKED}0\r\n`, 'a: b\r\n'],
};

/** Those that must end the attempt. */
export const FLOODS = Object.keys(FLOOD_PARTS).filter((name) => name !== 'body');
