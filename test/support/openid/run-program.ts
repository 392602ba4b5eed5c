/** Runs a client that is a program: it prints the URL to open, reads where the browser was sent, and prints JSON. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { createDirectory } from '../directory.ts';
import { answerOf } from './answer-of.ts';
import type { ClientFixture } from './client-fixture.ts';

/** Returns the environment of a program that is a client. It trusts the certificate of the provider. */
export async function clientEnvironment(fixture: ClientFixture): Promise<Record<string, string>> {
  const certificate = join(await createDirectory(), 'ca.pem');
  await writeFile(certificate, fixture.tls.cert);
  return {
    LANG: 'C.UTF-8',
    SSL_CERT_FILE: certificate,
    NODE_EXTRA_CA_CERTS: certificate,
    ISSUER: fixture.issuer,
    CALLBACK: fixture.callback,
    CLIENT_ID: fixture.client.clientId,
    CLIENT_SECRET: fixture.client.clientSecret,
  };
}

/** Returns what the program prints in the end. */
export async function runProgram(program: string, fixture: ClientFixture): Promise<unknown> {
  const child = spawn(program, {
    stdio: ['pipe', 'pipe', 'inherit'],
    env: { PATH: process.env.PATH, ...(await clientEnvironment(fixture)) },
  });
  const exited = once(child, 'exit');
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const url = await lines.next();
  if (!url.done) child.stdin.end(`${await answerOf(fixture, url.value)}\n`);
  const result = await lines.next();
  const [code] = await exited;
  if (code !== 0 || result.done) throw new Error(`${program} has exited with ${code}`);
  return JSON.parse(result.value);
}
