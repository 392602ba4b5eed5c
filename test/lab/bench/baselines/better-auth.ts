/** A common choice for sign-in in Node: better-auth with its plug-in for codes by e-mail, as its documentation shows. */
import { type BetterAuthOptions, betterAuth } from 'better-auth';
import { emailOTP } from 'better-auth/plugins/email-otp';
import { createTransport } from 'nodemailer';
import { Pool } from 'pg';

export interface BetterAuthSettings {
  readonly databaseUrl: string;
  readonly smtpUrl: string;
}

export const BETTER_AUTH_URL = 'http://127.0.0.1';

/** `joins` is what its documentation recommends for speed. It caches nothing, and limits no rates. */
export function toOptions({ databaseUrl, smtpUrl }: BetterAuthSettings) {
  const mailer = createTransport({ url: smtpUrl }, { from: 'usher@example.com' });
  return {
    baseURL: BETTER_AUTH_URL,
    secret: 'a secret of the benchmark, which is no secret',
    // The role has the search path of Usher. Connections stay open, so that their CPU time can be read.
    database: new Pool({
      connectionString: databaseUrl,
      options: '-c search_path=public',
      idleTimeoutMillis: 0,
    }),
    advanced: { database: { joins: true } },
    rateLimit: { enabled: false },
    session: { cookieCache: { enabled: false } },
    telemetry: { enabled: false },
    plugins: [
      emailOTP({
        storeOTP: 'hashed',
        // Its documentation advises against waiting, for the same reason as Usher's: the time would tell who has a user.
        sendVerificationOTP: async ({ email, otp }) =>
          void mailer.sendMail({
            to: email,
            subject: `${otp} is your code`,
            text: `Your code is ${otp}. It is good for 5 minutes.\n`,
          }),
      }),
    ],
  } satisfies BetterAuthOptions;
}

export function createAuth(settings: BetterAuthSettings) {
  return betterAuth(toOptions(settings));
}
