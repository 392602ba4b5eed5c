/** The health check of the container image, which has no shell and no curl: exits with 0 if Usher is ready. */
import http from 'node:http';
import https from 'node:https';

const { HOST = '0.0.0.0', PORT = '8080', TLS_CERT_FILE } = process.env;
const hostname = { '0.0.0.0': '127.0.0.1', '::': '::1' }[HOST] ?? HOST;
// The certificate is for another name, and this connection never leaves the machine.
const request = { hostname, port: PORT, path: '/readyz', rejectUnauthorized: false };
const client = TLS_CERT_FILE ? https : http;

process.exitCode = 1;
client
  .get(request, (response) => {
    if (response.statusCode === 200) process.exitCode = 0;
    response.resume();
  })
  .on('error', (error) => process.stderr.write(`${error.message}\n`));
