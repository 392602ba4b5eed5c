import type { Fault } from '../fault.ts';

const branding = 'test/login-page/branding.test.ts';
const logos = 'test/contract/branding.test.ts';
const images = 'test/domain/applications/logo-image.test.ts';

/** How applications appear on the login page, and the ways back to them. */
export const BRANDING_FAULTS: readonly Fault[] = [
  {
    what: 'Forms are taken of methods that the application does not have',
    file: 'src/domain/login/login-intent.ts',
    find: 'if (method && !allowsMethod(intent.branding, method))',
    replace: 'if (false as boolean)',
    test: branding,
    title: /are the only ones whose forms are taken/,
  },
  {
    what: 'A logo is shown for another digest',
    file: 'src/domain/applications/find-logo.ts',
    find: "'applicationId', 'theme', 'digest')",
    replace: "'applicationId', 'theme')",
    test: logos,
    title: /does not show a logo of another application, theme or digest/,
  },
  {
    what: 'A PNG may have HTML after its end',
    file: 'src/domain/applications/logo-image.ts',
    find: "if (names.at(-1) === 'IEND' && at + 12 !== bytes.length) return undefined;",
    replace: '',
    test: images,
    title: /chunks after a PNG/,
  },
  {
    what: 'A logo may be larger than 40 KiB',
    file: 'src/domain/applications/logo-image.ts',
    find: 'if (image.length > MAX_LOGO_BYTES)',
    replace: 'if (image.length > 2 * MAX_LOGO_BYTES)',
    test: images,
    title: /40 KiB and a byte/,
  },
  {
    what: 'The page of an unknown login leads nowhere',
    file: 'src/login-page/dead-end.ts',
    find: 'await findApplicationOfClient(call, fields.clientId)',
    replace: 'undefined',
    test: branding,
    title: /from an unknown login to a new login/,
  },
  {
    what: 'The accent colour stays as it is, readable or not',
    file: 'src/login-page/accent.ts',
    find: 'if (isReadable(color)) return color;',
    replace: 'if (isReadable(color) || true) return color;',
    test: 'test/login-page/accent.test.ts',
    title: /of any colour/,
  },
];
