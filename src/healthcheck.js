/**
 * The health check of the container image: exits with 0 if Usher is ready. It is a script, because the image has no
 * curl.
 */
import http from 'node:http';
import https from 'node:https';

// The defaults of the settings, which a script without a compile cache does not load. A test compares them.
const { HOST = '127.0.0.1', PORT = '8080', TLS_CERT_FILE } = process.env;
const hostname = { '0.0.0.0': '127.0.0.1', '::': '::1' }[HOST] ?? HOST;
// The certificate is not verified: it names the public host, and this connection does not leave the machine.
const request = { hostname, port: PORT, path: '/readyz', rejectUnauthorized: false };
const client = TLS_CERT_FILE ? https : http;

process.exitCode = 1;
client
  .get(request, (response) => {
    if (response.statusCode === 200) process.exitCode = 0;
    response.resume();
  })
  .on('error', (error) => process.stderr.write(`${error.message}\n`));
