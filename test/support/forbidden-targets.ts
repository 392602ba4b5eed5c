/** The targets that nothing which Usher fetches or sends may reach, in every range and every spelling. */

const list = (text: string) => text.trim().split(/\s+/);

/** The first and last addresses of every forbidden range, and every IPv6 form of them. */
export const FORBIDDEN_ADDRESSES = list(`
  0.0.0.0 0.255.255.255 10.0.0.0 10.255.255.255 100.64.0.0 100.127.255.255 127.0.0.0 127.0.0.1 127.255.255.255
  168.63.129.16 169.254.0.0 169.254.169.254 169.254.255.255 172.16.0.0 172.31.255.255 192.0.0.0 192.0.0.255 192.0.2.0
  192.0.2.255 192.88.99.0 192.88.99.255 192.168.0.0 192.168.255.255 198.18.0.0 198.19.255.255 198.51.100.0
  198.51.100.255 203.0.113.0 203.0.113.255 224.0.0.0 239.255.255.255 240.0.0.0 255.255.255.255
  :: ::1 ::2 ::127.0.0.1 ::8.8.8.8 ::ffff:127.0.0.1 ::ffff:7f00:1 0:0:0:0:0:ffff:0a00:0001 ::ffff:169.254.169.254
  ::ffff:0:8.8.8.8 64:ff9b::127.0.0.1 64:ff9b::7f00:1 64:ff9b::10.0.0.1 64:ff9b::169.254.169.254 64:ff9b:1::1
  64:ff9b:1::8.8.8.8 100::1 100:0:0:1::1 1fff:ffff::1 2001::1 2001:0:7f00:1::1 2001:1::1 2001:10::1 2001:20::1
  2001:1ff:ffff::1 2001:db8::1 2001:db8:ffff::1 2002:7f00:1:: 2002:a00:1::1 2002:808:808::1 3fff::1 3fff:fff::1
  4000::1 5f00::1 fc00::1 fd00::1 fd00:ec2::254 fdff:ffff::1 fe80::1 fe80::1%eth0 febf::1 fec0::1 ff00::1 ff02::1
  ::5efe:7f00:1 ::200:5efe:127.0.0.1 fe80::5efe:a00:1 2a00:1450::5efe:127.0.0.1 2a00:1450::5efe:10.0.0.1
  2a00:1450::200:5efe:192.168.0.1 ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff`);

/** Spellings of 127.0.0.1, 10.0.0.1, 169.254.169.254 and others that the URL parser understands. */
export const FORBIDDEN_SPELLINGS = [
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

/** URLs that are forbidden whatever their host is, with a word of the problem. */
export const FORBIDDEN_URLS: readonly (readonly [url: string, problem: string])[] = [
  ['https://user@hooks.test/', 'user information'],
  ['https://user:password@hooks.test/', 'user information'],
  ['https://:password@hooks.test/', 'user information'],
  ['https://8.8.8.8@127.0.0.1/', 'user information'],
  ...[1, 22, 25, 79, 81, 442, 444, 1023].map((port) => [`https://hooks.test:${port}/`, 'port'] as const),
  ['http://hooks.test/', 'https'],
  ['http://8.8.8.8/', 'https'],
];
