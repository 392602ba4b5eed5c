/** A common choice for sign-in in Node: better-auth with its plug-in for codes by e-mail, as its documentation shows. */
import { createServer } from 'node:http';
import { betterAuth } from 'better-auth';
import { getMigrations } from 'better-auth/db/migration';
import { toNodeHandler } from 'better-auth/node';
import { emailOTP } from 'better-auth/plugins/email-otp';
import { createTransport } from 'nodemailer';
import { Pool } from 'pg';

const { DATABASE_URL = '', SMTP_URL = '', HOST = '', PORT = '' } = process.env;

const mailer = createTransport({ url: SMTP_URL, pool: true }, { from: 'usher@example.com' });
/** It limits no rates. `joins` is what its documentation recommends for speed. */
const options = {
  baseURL: 'http://127.0.0.1',
  secret: 'a secret of the benchmark, which is no secret',
  // The role has the search path of Usher. Connections stay open, so that their CPU time can be read.
  database: new Pool({ connectionString: DATABASE_URL, options: '-c search_path=public', idleTimeoutMillis: 0 }),
  advanced: { database: { joins: true } },
  rateLimit: { enabled: false },
  telemetry: { enabled: false },
  plugins: [
    emailOTP({
      storeOTP: 'hashed',
      // Its documentation advises against waiting, for the same reason as Usher's: the time would tell who has a user.
      sendVerificationOTP: async ({ email, otp }) =>
        void mailer.sendMail({ to: email, subject: `${otp} is your code`, text: `Your code is ${otp}.\n` }),
    }),
  ],
};

await (await getMigrations(options)).runMigrations();
createServer(toNodeHandler(betterAuth(options))).listen(Number(PORT), HOST);
