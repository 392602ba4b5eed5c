/** Signs users in with Usher, shows who is signed in, and signs them out. One page needs a fresh sign-in. */
import express from 'express';
import { createUsherClient } from 'usher-client';
import { createExpressSessions } from 'usher-client/express';

const { USHER_URL = 'http://localhost:8080', CLIENT_ID = '', API_KEY = '', PORT = '3000' } = process.env;
const url = `http://127.0.0.1:${PORT}`;
const client = createUsherClient({ baseUrl: USHER_URL, apiKey: API_KEY });
const sessions = createExpressSessions({ client, clientId: CLIENT_ID, redirectUri: `${url}/callback` });

const app = express();
app.get('/login', sessions.startLogin);
app.get('/callback', sessions.finishLogin);
app.post('/logout', sessions.signOut);
app.get('/', sessions.checkSession, (request, response) => {
  const email = request.usherSession?.user?.email;
  const page = `Signed in as ${escapeHtml(email)} <form method="post" action="/logout"><button>Sign out</button></form>`;
  response.send(email ? page : '<a href="/login">Sign in</a>');
});
app.get('/payment', sessions.checkSession, sessions.requireFreshSignIn(300), (_, response) => {
  response.send('You signed in less than five minutes ago');
});
export const server = app.listen(Number(PORT), '127.0.0.1', () => console.log(url));

function escapeHtml(text = ''): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}
