/** A mail server in a thread of its own, so that its work does not count as Usher's. It posts its URL. */
import { parentPort } from 'node:worker_threads';
import { MailServer } from './mail-server.ts';

const server = await MailServer.start({ onAuth: (_credentials, _session, done) => done(null, { user: 'usher' }) });
parentPort?.postMessage(server.url.replace('//', '//usher:password@'));
