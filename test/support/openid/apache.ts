/** Debian's Apache with mod_auth_openidc, which lets only signed-in users see its pages. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { onTestFinished } from 'vitest';
import { createDirectory } from '../directory.ts';
import { APACHE_MODULES, APACHE_PATH } from '../tools.ts';
import type { ClientFixture } from './client-fixture.ts';

/** Serves a page at the address of the client. Ends with the test. */
export async function startApache({ issuer, client, tls, port, callback, origin }: ClientFixture): Promise<void> {
  const directory = await createDirectory();
  // Its workers are an unprivileged user.
  await chmod(directory, 0o755);
  await mkdir(join(directory, 'pages'));
  await writeFile(join(directory, 'pages/index.html'), 'the protected page');
  await writeFile(join(directory, 'ca.pem'), tls.cert);
  await writeFile(
    join(directory, 'apache.conf'),
    `
ServerRoot ${directory}
PidFile ${directory}/pid
ErrorLog ${directory}/error.log
Listen 127.0.0.1:${port}
ServerName 127.0.0.1:${port}
DocumentRoot ${directory}/pages
LoadModule mpm_event_module ${APACHE_MODULES}/mod_mpm_event.so
LoadModule authn_core_module ${APACHE_MODULES}/mod_authn_core.so
LoadModule authz_core_module ${APACHE_MODULES}/mod_authz_core.so
LoadModule authz_user_module ${APACHE_MODULES}/mod_authz_user.so
LoadModule dir_module ${APACHE_MODULES}/mod_dir.so
LoadModule headers_module ${APACHE_MODULES}/mod_headers.so
LoadModule auth_openidc_module ${APACHE_MODULES}/mod_auth_openidc.so
${process.getuid?.() === 0 ? 'User www-data\nGroup www-data' : ''}
DirectoryIndex index.html
OIDCProviderMetadataURL ${issuer}/.well-known/openid-configuration
OIDCClientID ${client.clientId}
OIDCClientSecret "${client.clientSecret}"
OIDCRedirectURI ${callback}
OIDCDefaultLoggedOutURL ${origin}/signed-out
OIDCCryptoPassphrase a-passphrase-of-the-test
OIDCCABundlePath ${directory}/ca.pem
OIDCPKCEMethod S256
OIDCScope "openid profile email"
OIDCPassRefreshToken On
<Location />
  AuthType openid-connect
  Require valid-user
  Header always set x-user "%{OIDC_CLAIM_email}e"
  Header always set x-subject "%{OIDC_CLAIM_sub}e"
  Header always set x-access-token "%{OIDC_access_token}e"
</Location>
<Location /signed-out>
  AuthType None
  Require all granted
</Location>
`,
  );
  const child = spawn(APACHE_PATH, ['-f', join(directory, 'apache.conf'), '-DFOREGROUND'], { stdio: 'inherit' });
  const exited = once(child, 'exit');
  onTestFinished(async () => {
    child.kill('SIGTERM');
    await exited;
  });
  while (!(await accepts(port))) {
    if (child.exitCode !== null) throw new Error(`Apache has exited with ${child.exitCode}`);
    await sleep(50);
  }
}

async function accepts(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1');
  const isOpen = await once(socket, 'connect').then(
    () => true,
    () => false,
  );
  socket.destroy();
  return isOpen;
}
