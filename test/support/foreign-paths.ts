/** Paths that lead a browser to another site, or whose normal form does. */
export const FOREIGN_PATHS = [
  '/.//evil.test',
  '/..//evil.test',
  '/%2e//evil.test',
  '/%2E%2e//evil.test/?a=1',
  '/orders/..//evil.test',
  '/./\\evil.test',
  '/.\t/\t/evil.test',
  '/.///evil.test',
  '//evil.test',
  '/\\evil.test',
  '/\t/evil.test',
  '/.//',
  '//[',
  'https://evil.test/',
  'https:evil.test',
  'javascript:alert(1)',
] as const;
