import { describe, expect, test } from 'vitest';
import {
  addToQuery,
  describeDifference,
  isRegistered,
  isRegistrable,
} from '../../../src/domain/applications/redirect-uri.ts';

describe('an application', () => {
  test.each([
    ...['https://app.test', 'https://app.test/callback', 'https://app.test:8443/callback'],
    ...['https://app.test/callback?tenant=1&mode=a%20b', 'https://app.test/%2e%2e/callback'],
    ...['https://APP.test/Callback', 'https://xn--bcher-kva.example/callback'],
    ...['https://[2001:db8::1]:8443/callback', 'http://localhost', 'http://localhost:3000/callback?a=1'],
    ...['http://127.0.0.1:51004/callback', 'http://[::1]:51004/callback', 'com.example.app:/callback'],
    ...['com.example.app://callback/path?a=1', 'com.example.my-app:/callback'],
  ])('may register %s', (uri) => {
    expect(isRegistrable(uri)).toBe(true);
  });

  test.each([
    ...['', '/callback', 'app.test/callback', '//app.test/callback', 'https:app.test/callback'],
    ...['https:/app.test/callback', 'https:///app.test/callback', 'https://', 'https://?a=1'],
    ...['http://app.test/callback', 'http://localhost.app.test/callback', 'http://127.0.0.1.app.test/callback'],
    ...['http://notlocalhost/callback', 'http://0.0.0.0/callback', 'http://[::]/callback'],
    ...['http://192.168.0.1/callback', 'http://localhost@app.test/callback'],
    ...['http://127.0.0.1:80@app.test/callback', 'https://user@app.test/callback'],
    ...['https://user:password@app.test/callback', 'https://@app.test/callback'],
    ...['http://user@localhost/callback', 'com.example.app://user@callback/path'],
    ...['com.example.app://user:password@callback/path', 'https://app.test/callback#part'],
    ...['https://app.test/callback#', 'com.example.app:/callback#part', 'https://*.app.test/callback'],
    ...['https://app.test/*', 'https://app.test/callback?a=*', 'https://app.test:*/callback'],
    ...['com.example.app:/*', 'myapp:/callback', 'myapp://callback', 'javascript:alert(1)'],
    ...['javascript://app.test/%0aalert(1)', 'data:text/html,hello', 'file:///etc/passwd'],
    ...['ftp://app.test/callback', 'wss://app.test/callback', 'https:\\\\app.test\\callback'],
    ...['https://app.test\\@evil.test/callback', ' https://app.test/callback', 'https://app.test/callback '],
    ...['https://app.test/call back', 'https://app.test/call\tback'],
    ...['https://app.test/callback\r\nSet-Cookie: a=b', 'https://app.test/callback\n'],
    ...['https://app.test/callback\0', 'https://bücher.example/callback', 'https://app.test/überall'],
    ...['https://app.test:65536/callback', 'https://app.test:http/callback', 'https://[::1/callback'],
  ])('may not register %j', (uri) => {
    expect(isRegistrable(uri)).toBe(false);
  });
});

describe('parameters join the query of a redirect URI', () => {
  test.each([
    ['https://app.test/callback', 'https://app.test/callback?state=a+%26+b'],
    ['https://app.test', 'https://app.test?state=a+%26+b'],
    ['https://app.test/callback?x=1', 'https://app.test/callback?x=1&state=a+%26+b'],
    ['https://app.test/callback?', 'https://app.test/callback?state=a+%26+b'],
    ['https://app.test/callback?x=1&', 'https://app.test/callback?x=1&state=a+%26+b'],
    ['https://app.test/callback?state=own&x=%2f', 'https://app.test/callback?state=own&x=%2f&state=a+%26+b'],
    ['com.example.app:/callback', 'com.example.app:/callback?state=a+%26+b'],
  ])('%s becomes %s', (uri, result) => {
    expect(addToQuery(uri, { state: 'a & b' })).toBe(result);
  });
});

test.each([
  ['http://127.0.0.1:65535/a', true],
  ['http://127.0.0.1:65536/a', false],
  ['http://127.0.0.1/a', true],
  ['http://127.0.0.1:80/b', false],
])('on a loopback host any port matches: %s', (uri, isMatching) => {
  expect(isRegistered(uri, ['http://127.0.0.1:3000/a'])).toBe(isMatching);
});

describe('the log says of a refused URI how it', () => {
  const KNOWN = ['https://other.test/b?c=d', 'https://app.test/a'];
  test.each([
    ['differs from the one that is most like it', 'https://app.test/b', KNOWN, 'differs in pathname'],
    ['is only spelt otherwise', 'https://APP.test/a', KNOWN, 'differs in its spelling'],
    ['is no URL', 'app.test', KNOWN, 'is no absolute URL'],
    ['differs from none', 'https://app.test/a', [], 'no redirect URI is registered'],
  ])('%s', (_, uri, registered, text) => {
    expect(describeDifference(uri, registered)).toBe(text);
  });
});
