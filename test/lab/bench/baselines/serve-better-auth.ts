/** Serves better-auth with `node:http`, as its documentation shows. */
import { createServer } from 'node:http';
import { toNodeHandler } from 'better-auth/node';
import { createAuth } from './better-auth.ts';

const { DATABASE_URL = '', SMTP_URL = '', HOST = '', PORT = '' } = process.env;

createServer(toNodeHandler(createAuth({ databaseUrl: DATABASE_URL, smtpUrl: SMTP_URL }))).listen(Number(PORT), HOST);
