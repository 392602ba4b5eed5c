/** The guide to mistakes that many make on their first day. */
import { ERRORS } from '../../domain/errors.ts';
import { renderTable } from './text.ts';

const messageOf = (reason: keyof typeof ERRORS) => `\`${ERRORS[reason][1]}\``;

export const TROUBLESHOOTING = renderTable(
  ['What you see', 'What to do'],
  [
    [
      messageOf('INVALID_API_KEY'),
      'Send the key of an application, `usk_…`, as `X-API-Key`. Admin keys go into `X-Admin-Key`, for AdminService only. A revoked key, and one of another Usher, looks the same.',
    ],
    [messageOf('CLIENT_ID_MISMATCH'), 'Client ID and API key are of two applications.'],
    [
      messageOf('INVALID_REDIRECT_URI'),
      'Register it to the letter, with UpdateApplication: scheme, host, port, path and last slash. Any port matches for `http://127.0.0.1` and `http://[::1]`, but not for `localhost`.',
    ],
    [
      messageOf('INVALID_TOKEN'),
      'An auth token is for the application that began the login, for 15 minutes. With `AUTH_ISSUER`, compare the clocks.',
    ],
    [
      '`Unsupported media type`',
      'Send `Content-Type: application/json`. Without it, `curl -d` says that the body is a form.',
    ],
    ['`is unknown`', 'The call has no such field. Names count to the letter: `eventId`, not `eventID`.'],
    [
      'After the sign-in, `state` does not match',
      'The cookie did not come back. Open the application at the origin of its redirect URI: `localhost` and `127.0.0.1` are two hosts, and a cookie that is `Secure` needs https.',
    ],
    [
      '`iss` does not match',
      'Compare it with the `PUBLIC_URL` of Usher, which may differ from the URL that your server calls.',
    ],
    [
      'No code arrives',
      'Nobody has that address, and the application does not allow sign-ups (`allowSignUp`). The page does not tell, so that nobody learns who has an account. Codes of a trial appear in its terminal.',
    ],
    [
      'Webhook: `The address is not allowed`',
      'The name of the host is unknown, or leads to an internal address. Operators allow those with `WEBHOOK_ALLOWED_NETWORKS`.',
    ],
    [
      'A browser refuses a call: CORS',
      'Call Usher from your server: an API key in a page is public. For internal tools, operators set `CORS_ORIGINS`.',
    ],
    ['`wrong version number`', 'One side speaks TLS, and the other does not: compare `https` and `http`.'],
  ],
);
