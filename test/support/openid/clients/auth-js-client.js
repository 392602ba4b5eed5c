/** An application with Auth.js. A program of its own: its types would bring those of browsers to all of ours. */
import { env } from 'node:process';
import { ExpressAuth } from '@auth/express';
import express from 'express';

const { ISSUER: issuer, CLIENT_ID: clientId, CLIENT_SECRET: clientSecret, PORT } = env;
const usher = {
  id: 'usher',
  name: 'Usher',
  type: 'oidc',
  issuer,
  clientId,
  clientSecret,
  checks: ['pkce', 'state', 'nonce'],
};
const app = express();
// It takes its base path from the group.
app.use(/^\/auth\/(.*)/, ExpressAuth({ secret: 'a secret of sufficient length', trustHost: true, providers: [usher] }));
app.get('/', (_, response) => response.send('home'));
app.listen(Number(PORT), '127.0.0.1', () => console.log(`http://127.0.0.1:${PORT}`));
