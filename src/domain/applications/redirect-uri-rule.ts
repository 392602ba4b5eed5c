import { textThat } from '../core/validation.ts';
import { isRegistrable } from './redirect-uri.ts';

/** Accepts a URI that an application may register. */
export const redirectUri = textThat(
  isRegistrable,
  'must be absolute https, http on a loopback host, or a private scheme with a dot, without fragment, user information or wildcard',
  { max: 2048, format: 'redirect-uri' },
);
