import { describe, expect, test } from 'vitest';
import { addToQuery, isRegistered, isRegistrable } from '../../../src/core/auth/redirect-uri.ts';

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

describe('a redirect URI is registered byte for byte', () => {
  const registered = ['https://app.test/callback', 'https://app.test/other?a=1&b=2', 'com.example.app:/callback'];

  test.each(registered)('as in %s', (uri) => {
    expect(isRegistered(uri, registered)).toBe(true);
  });

  test.each([
    ['nothing', ''],
    ['a prefix', 'https://app.test/callbac'],
    ['the host alone', 'https://app.test'],
    ['the root', 'https://app.test/'],
    ['a longer path', 'https://app.test/callback/more'],
    ['a longer last segment', 'https://app.test/callbacks'],
    ['something before it', 'xhttps://app.test/callback'],
    ['another URI before it', 'https://evil.test/https://app.test/callback'],
    ['itself in a query', 'https://evil.test/?next=https://app.test/callback'],
    ['itself twice', 'https://app.test/callbackhttps://app.test/callback'],
    ['a list', 'https://app.test/callback,https://app.test/callback'],
    ['a longer host', 'https://app.test.evil.test/callback'],
    ['a subdomain', 'https://www.app.test/callback'],
    ['the parent domain', 'https://test/callback'],
    ['a host that ends alike', 'https://evilapp.test/callback'],
    ['a dot after the host', 'https://app.test./callback'],
    ['a user', 'https://user@app.test/callback'],
    ['a user and password', 'https://user:password@app.test/callback'],
    ['an empty user', 'https://@app.test/callback'],
    ['the host as user', 'https://app.test@evil.test/callback'],
    ['the host and port as user', 'https://app.test:443@evil.test/callback'],
    ['an encoded user sign', 'https://app.test%40evil.test/callback'],
    ['a backslash and user sign', 'https://app.test\\@evil.test/callback'],
    ['a backslash after the host', 'https://app.test\\callback'],
    ['backslashes before the host', 'https:\\\\app.test/callback'],
    ['a backslash in the path', 'https://app.test/\\callback'],
    ['a dot segment', 'https://app.test/./callback'],
    ['a dot-dot segment', 'https://app.test/x/../callback'],
    ['a dot-dot segment after it', 'https://app.test/callback/../callback'],
    ['a dot after it', 'https://app.test/callback.'],
    ['a dot segment after it', 'https://app.test/callback/.'],
    ['an encoded dot segment', 'https://app.test/%2e/callback'],
    ['an encoded dot-dot segment', 'https://app.test/x/%2e%2e/callback'],
    ['an encoded letter', 'https://app.test/%63allback'],
    ['an encoded slash', 'https://app.test%2fcallback'],
    ['a doubly encoded letter', 'https://app.test/%2563allback'],
    ['an encoded host', 'https://%61pp.test/callback'],
    ['the whole encoded', 'https%3A%2F%2Fapp.test%2Fcallback'],
    ['an encoded NUL', 'https://app.test/callback%00'],
    ['another case of the scheme', 'HTTPS://app.test/callback'],
    ['another case of the host', 'https://APP.test/callback'],
    ['another case of the path', 'https://app.test/Callback'],
    ['a slash after it', 'https://app.test/callback/'],
    ['a doubled slash', 'https://app.test//callback'],
    ['another scheme', 'http://app.test/callback'],
    ['no scheme', '//app.test/callback'],
    ['one slash after the scheme', 'https:/app.test/callback'],
    ['three slashes after the scheme', 'https:///app.test/callback'],
    ['the default port', 'https://app.test:443/callback'],
    ['an empty port', 'https://app.test:/callback'],
    ['another port', 'https://app.test:8443/callback'],
    ['a fragment', 'https://app.test/callback#part'],
    ['an empty fragment', 'https://app.test/callback#'],
    ['an encoded fragment', 'https://app.test/callback%23part'],
    ['an empty query', 'https://app.test/callback?'],
    ['a query where there is none', 'https://app.test/callback?a=1'],
    ['no query where there is one', 'https://app.test/other'],
    ['an extra parameter', 'https://app.test/other?a=1&b=2&c=3'],
    ['a duplicate parameter', 'https://app.test/other?a=1&b=2&a=1'],
    ['a duplicate parameter before it', 'https://app.test/other?a=2&a=1&b=2'],
    ['a missing parameter', 'https://app.test/other?a=1'],
    ['parameters in another order', 'https://app.test/other?b=2&a=1'],
    ['an encoded parameter', 'https://app.test/other?%61=1&b=2'],
    ['another separator', 'https://app.test/other?a=1;b=2'],
    ['an ampersand after it', 'https://app.test/other?a=1&b=2&'],
    ['path parameters', 'https://app.test/callback;a=1'],
    ['a homograph of the host', 'https://аpp.test/callback'],
    ['that homograph in Punycode', 'https://xn--pp-6kc.test/callback'],
    ['full-width letters', 'https://ａpp.test/callback'],
    ['an ideographic full stop', 'https://app。test/callback'],
    ['a soft hyphen', 'https://app\u00ad.test/callback'],
    ['a zero-width space', 'https://app.test/callback\u200b'],
    ['a right-to-left override', 'https://app.test/callback\u202e'],
    ['CRLF after it', 'https://app.test/callback\r\n'],
    ['a header after it', 'https://app.test/callback\r\nSet-Cookie: a=b'],
    ['an encoded CRLF', 'https://app.test/callback%0d%0a'],
    ['a line feed before it', '\nhttps://app.test/callback'],
    ['a space before it', ' https://app.test/callback'],
    ['a space after it', 'https://app.test/callback '],
    ['a tab within', 'https://app.test/call\tback'],
    ['NUL after it', 'https://app.test/callback\0'],
    ['a byte order mark before it', '\ufeffhttps://app.test/callback'],
    ['javascript', 'javascript:alert(1)'],
    ['javascript that looks alike', 'javascript://app.test/callback'],
    ['data', 'data:text/html,https://app.test/callback'],
    ['the private scheme with slashes', 'com.example.app://callback'],
    ['a longer private scheme', 'com.example.app2:/callback'],
    ['the private scheme in another case', 'COM.EXAMPLE.APP:/callback'],
    ['an out-of-band request', 'urn:ietf:wg:oauth:2.0:oob'],
    ['a wildcard', '*'],
  ])('and not as %s', (_, uri) => {
    expect(isRegistered(uri, registered)).toBe(false);
  });

  test('and none is where none has been registered', () => {
    expect(isRegistered('https://app.test/callback', [])).toBe(false);
  });
});

describe('on a loopback address', () => {
  const registered = ['http://127.0.0.1:5000/callback?a=1', 'http://[::1]/callback', 'http://localhost:3000/callback'];

  test.each([
    'http://127.0.0.1:5000/callback?a=1',
    'http://127.0.0.1:1/callback?a=1',
    'http://127.0.0.1:65535/callback?a=1',
    'http://127.0.0.1/callback?a=1',
    'http://[::1]/callback',
    'http://[::1]:49152/callback',
    'http://localhost:3000/callback',
  ])('%s is registered, whatever the port', (uri) => {
    expect(isRegistered(uri, registered)).toBe(true);
  });

  test.each([
    ['a port out of range', 'http://127.0.0.1:65536/callback?a=1'],
    ['a port of six digits', 'http://127.0.0.1:100000/callback?a=1'],
    ['an empty port', 'http://127.0.0.1:/callback?a=1'],
    ['a negative port', 'http://127.0.0.1:-1/callback?a=1'],
    ['a port with a sign', 'http://127.0.0.1:+80/callback?a=1'],
    ['two ports', 'http://127.0.0.1:80:80/callback?a=1'],
    ['a port in other digits', 'http://127.0.0.1:８０/callback?a=1'],
    ['the port as password', 'http://127.0.0.1:5000@evil.test/callback?a=1'],
    ['the address as user', 'http://[::1]@evil.test/callback'],
    ['a user', 'http://user@127.0.0.1:5000/callback?a=1'],
    ['a longer host', 'http://127.0.0.1.evil.test:5000/callback?a=1'],
    ['a longer IPv6 host', 'http://[::1].evil.test/callback'],
    ['another loopback address', 'http://127.0.0.2:5000/callback?a=1'],
    ['the short form', 'http://127.1:5000/callback?a=1'],
    ['the long IPv6 form', 'http://[0:0:0:0:0:0:0:1]/callback'],
    ['the other family', 'http://[::1]:5000/callback?a=1'],
    ['the mapped address', 'http://[::ffff:127.0.0.1]:5000/callback?a=1'],
    ['localhost with another port', 'http://localhost:3001/callback'],
    ['localhost without port', 'http://localhost/callback'],
    ['localhost for the address', 'http://localhost:5000/callback?a=1'],
    ['https', 'https://127.0.0.1:5000/callback?a=1'],
    ['another path', 'http://127.0.0.1:5000/callback/?a=1'],
    ['another query', 'http://127.0.0.1:5000/callback?a=2'],
    ['no query', 'http://127.0.0.1:5000/callback'],
    ['a fragment', 'http://[::1]:5000/callback#part'],
    ['a backslash after the port', 'http://127.0.0.1:5000\\@evil.test/callback?a=1'],
    ['a line feed after the port', 'http://127.0.0.1:5000\n/callback?a=1'],
    ['another case of the scheme', 'HTTP://127.0.0.1:5000/callback?a=1'],
  ])('%s is not', (_, uri) => {
    expect(isRegistered(uri, registered)).toBe(false);
  });

  test('a public URI is not registered with another port', () => {
    expect(isRegistered('https://app.test:8443/callback', ['https://app.test/callback'])).toBe(false);
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
