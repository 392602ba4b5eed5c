/** Signs users in with Usher in Next.js: `app/usher.ts`, and a route handler for each step. */
import { createUsherClient } from 'usher-client';
import { createWebSessions } from 'usher-client/web';

const {
  USHER_URL = 'http://localhost:8080',
  CLIENT_ID = '',
  // `next build` loads this file, too, where there is no key.
  API_KEY = 'none',
  APP_URL = 'http://127.0.0.1:3000',
} = process.env;
const client = createUsherClient({ baseUrl: USHER_URL, apiKey: API_KEY });
const sessions = createWebSessions({ client, clientId: CLIENT_ID, redirectUri: `${APP_URL}/callback` });

// app/login/route.ts:    export { login as GET } from '../usher';
export const login = sessions.startLogin;
// app/callback/route.ts: export { callback as GET } from '../usher';
export const callback = sessions.finishLogin;
// app/logout/route.ts:   export { logout as POST } from '../usher';
export const logout = sessions.signOut;

// app/me/route.ts:       export { me as GET } from '../usher';
export async function me(request: Request): Promise<Response> {
  const { session, cookies } = await sessions.checkSession(request);
  const reply = session ? Response.json(session.user?.email) : Response.redirect(`${APP_URL}/login?returnTo=/me`, 303);
  const response = new Response(reply.body, reply);
  for (const cookie of cookies) response.headers.append('set-cookie', cookie);
  return response;
}
