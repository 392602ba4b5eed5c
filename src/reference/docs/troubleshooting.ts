/** The guide to common mistakes of the first day. */
import { ERRORS, type ErrorReason } from '../../domain/core/errors.ts';
import { renderTable } from './text.ts';

/** What to do about errors of the first day, also in the rows to which their `help` leads. */
export const ADVICE: Partial<Record<ErrorReason, string>> = {
  INVALID_API_KEY:
    'Send the key of an application, `usk_…`, as `X-API-Key`, not as `Authorization`. Admin keys go into `X-Admin-Key`, for AdminService only. A revoked key, and a key of another Usher, get the same error; the `detail` in the log of Usher says what came.',
  INVALID_ADMIN_KEY:
    'Send an admin key as `X-Admin-Key`: that of `ADMIN_KEY`, or one of `ADMIN_KEYS_FILE`. A trial has its own in `.data/admin-key`. API keys, `usk_…`, open the other services.',
  CLIENT_ID_MISMATCH: 'Client ID and API key belong to different applications.',
  INVALID_REDIRECT_URI:
    'Register the exact redirect URI with UpdateApplication: scheme, host, port, path and last slash. Any port matches for `http://127.0.0.1` and `http://[::1]`, but not for `localhost`. The `detail` in the log of Usher says in which part it differs.',
  INVALID_TOKEN: 'An auth token is valid for 15 minutes, only for the application that began the login.',
};

export const TROUBLESHOOTING = renderTable(
  ['What you see', 'What to do'],
  [
    ...Object.entries(ADVICE).map(([reason, advice]) => [`\`${ERRORS[reason as ErrorReason][1]}\``, advice]),
    [
      '`Unsupported media type`',
      'Send `Content-Type: application/json`. Without it, `curl -d` says that the body is a form.',
    ],
    ['`is unknown`', 'The call has no such field. Names are case-sensitive: `eventId`, not `eventID`.'],
    [
      'After the sign-in, `state` does not match',
      'The browser did not send the cookie. Open the application at the origin of its redirect URI: `localhost` and `127.0.0.1` are two hosts, and a cookie that is `Secure` needs https.',
    ],
    [
      '`iss` does not match',
      'Compare it with the `PUBLIC_URL` of Usher, which may differ from the URL that your server calls.',
    ],
    [
      'No code arrives',
      'Nobody has that address, and the application does not allow sign-ups (`allowSignUp`), or not from that domain (`signUpEmailDomains`, `BLOCKED_EMAIL_DOMAINS_FILE`). The page does not say so, so that nobody learns who has an account. On the embedded Postgres, codes appear in the terminal.',
    ],
    [
      'Webhook: `The address is not allowed`',
      'The host name is unknown, or resolves to an internal address. Operators allow internal addresses with `WEBHOOK_ALLOWED_NETWORKS`.',
    ],
    [
      'A browser refuses a call: CORS',
      'Call Usher from your server: an API key in a page is public. A page without a server uses OpenID Connect with `publicClient`. For internal tools, operators set `CORS_ORIGINS`.',
    ],
    ['`wrong version number`', 'One side speaks TLS, and the other does not: compare `https` and `http`.'],
  ],
);
