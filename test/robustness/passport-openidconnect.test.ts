/** `passport-openidconnect`, which knows no PKCE. */
import { randomUUID } from 'node:crypto';
import express, { type NextFunction, type Request, type Response } from 'express';
import { Passport } from 'passport';
import { type Profile, Strategy, type VerifyCallback } from 'passport-openidconnect';
import { expect, test } from 'vitest';
import { openClientFixture } from '../support/openid/client-fixture.ts';
import { PERSON } from '../support/openid/provider.ts';

test('Passport signs a user in at an application that does not require PKCE', async () => {
  const { origin, callback, issuer, client, visit, serve } = await openClientFixture();
  const passport = new Passport();
  passport.use(
    new Strategy(
      {
        issuer,
        authorizationURL: `${issuer}/oidc/authorize`,
        tokenURL: `${issuer}/oidc/token`,
        userInfoURL: `${issuer}/oidc/userinfo`,
        clientID: client.clientId,
        clientSecret: client.clientSecret,
        callbackURL: callback,
        scope: 'profile email',
        nonce: 'true',
      },
      (_: string, profile: Profile, done: VerifyCallback) => done(null, profile),
    ),
  );
  const app = express();
  app.use(keepSessions());
  app.get('/', passport.authenticate('openidconnect', { session: false }));
  app.get('/callback', passport.authenticate('openidconnect', { session: false }), (request, response) => {
    response.json(request.user);
  });
  await serve(app);
  const page = await visit(`${origin}/`);
  expect(page).toMatchObject({ status: 200, url: expect.stringContaining(`${callback}?code=`) });
  expect(JSON.parse(page.body)).toMatchObject({ displayName: PERSON.name, emails: [{ value: PERSON.email }] });
});

/** Keeps sessions in memory, where the strategy has its state and nonce. */
function keepSessions() {
  const sessions = new Map<string, object>();
  return (request: Request, response: Response, next: NextFunction) => {
    const [, known] = /session=([^;]+)/.exec(request.headers.cookie ?? '') ?? [];
    const id = known ?? randomUUID();
    const session = sessions.get(id) ?? {};
    sessions.set(id, session);
    Object.assign(request, { session });
    response.cookie('session', id);
    next();
  };
}
