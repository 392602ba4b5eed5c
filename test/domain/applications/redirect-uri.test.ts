import { describe, expect, test } from 'vitest';
import { addToQuery, isRegistrable } from '../../../src/domain/applications/redirect-uri.ts';

describe('an application may register', () => {
  test.each([
    'https://app.test',
    'https://app.test/',
    'https://app.test/callback',
    'https://app.test:8443/callback',
    'https://app.test/callback?tenant=1&mode=a%20b',
    'https://app.test?tenant=1',
    'https://app.test/%2e%2e/callback',
    'https://APP.test/Callback',
    'https://xn--bcher-kva.example/callback',
    'https://192.0.2.1/callback',
    'https://[2001:db8::1]:8443/callback',
    'http://localhost',
    'http://localhost/callback',
    'http://localhost:3000/callback?a=1',
    'http://localhost?a=1',
    'http://127.0.0.1/callback',
    'http://127.0.0.1:51004/callback',
    'http://[::1]/callback',
    'http://[::1]:51004/callback',
    'com.example.app:/callback',
    'com.example.app://callback',
    'com.example.app://callback/path?a=1',
    'com.example.my-app:/callback',
  ])('%s', (uri) => {
    expect(isRegistrable(uri)).toBe(true);
  });
});

describe('an application may not register', () => {
  test.each([
    ['nothing', ''],
    ['a path', '/callback'],
    ['a URI without scheme', 'app.test/callback'],
    ['a URI relative to a scheme', '//app.test/callback'],
    ['https without slashes', 'https:app.test/callback'],
    ['https with one slash', 'https:/app.test/callback'],
    ['https with three slashes', 'https:///app.test/callback'],
    ['https without a host', 'https://'],
    ['https with a query alone', 'https://?a=1'],
    ['http on a public host', 'http://app.test/callback'],
    ['http on a host that begins like a loopback name', 'http://localhost.app.test/callback'],
    ['http on a host that begins like a loopback address', 'http://127.0.0.1.app.test/callback'],
    ['http on a host that ends like a loopback name', 'http://notlocalhost/callback'],
    ['http on every address', 'http://0.0.0.0/callback'],
    ['http on every IPv6 address', 'http://[::]/callback'],
    ['http on a private address', 'http://192.168.0.1/callback'],
    ['loopback user information', 'http://localhost@app.test/callback'],
    ['a loopback address as user information', 'http://127.0.0.1:80@app.test/callback'],
    ['a user', 'https://user@app.test/callback'],
    ['a user and password', 'https://user:password@app.test/callback'],
    ['an empty user', 'https://@app.test/callback'],
    ['a user on a loopback host', 'http://user@localhost/callback'],
    ['a user in a private scheme', 'com.example.app://user@callback/path'],
    ['a user and password in a private scheme', 'com.example.app://user:password@callback/path'],
    ['a fragment', 'https://app.test/callback#part'],
    ['an empty fragment', 'https://app.test/callback#'],
    ['a fragment in a private scheme', 'com.example.app:/callback#part'],
    ['a wildcard host', 'https://*.app.test/callback'],
    ['a wildcard path', 'https://app.test/*'],
    ['a wildcard query', 'https://app.test/callback?a=*'],
    ['a wildcard port', 'https://app.test:*/callback'],
    ['a wildcard in a private scheme', 'com.example.app:/*'],
    ['a private scheme without a dot', 'myapp:/callback'],
    ['a private scheme without a dot and with slashes', 'myapp://callback'],
    ['javascript', 'javascript:alert(1)'],
    ['javascript dressed as a URL', 'javascript://app.test/%0aalert(1)'],
    ['data', 'data:text/html,hello'],
    ['a file', 'file:///etc/passwd'],
    ['ftp', 'ftp://app.test/callback'],
    ['a web socket', 'wss://app.test/callback'],
    ['backslashes', 'https:\\\\app.test\\callback'],
    ['a backslash before the user sign', 'https://app.test\\@evil.test/callback'],
    ['a space before', ' https://app.test/callback'],
    ['a space after', 'https://app.test/callback '],
    ['a space within', 'https://app.test/call back'],
    ['a tab', 'https://app.test/call\tback'],
    ['a line break', 'https://app.test/callback\r\nSet-Cookie: a=b'],
    ['a line feed at the end', 'https://app.test/callback\n'],
    ['NUL', 'https://app.test/callback\0'],
    ['a host in Unicode', 'https://bücher.example/callback'],
    ['a path in Unicode', 'https://app.test/überall'],
    ['a port out of range', 'https://app.test:65536/callback'],
    ['a port that is no number', 'https://app.test:http/callback'],
    ['an unfinished IPv6 address', 'https://[::1/callback'],
  ])('%s', (_, uri) => {
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
