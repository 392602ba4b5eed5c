/** Search words of people who do not know the terms of Usher yet, by the section that answers them. */
export const SEARCH_WORDS: Readonly<Record<string, string>> = {
  start: 'curl sdk install credentials',
  'quick-starts': 'example sample tutorial sdk node react vue angular spa javascript cookie callback localhost',
  concepts: 'glossary jwt refresh ttl lifetime timeout expiry passwordless password',
  login: 'oauth signin sign-in signup sign-up register authenticate csrf nonce callback return url password sso',
  errors: 'exception status code 400 401 403 404 409 429 500 503 request id',
  troubleshooting:
    'help debug faq token expired unauthorized forbidden callback mismatch cookie cors localhost ssl email spam otp',
  lists: 'pagination cursor offset',
  updates: 'patch put modify edit',
  'openid-connect': 'oidc oauth2 sso single sign-on saml logout discovery jwks refresh token id token userinfo',
  webhooks: 'callback notification event signature secret hmac retry',
  limits: 'rate limit throttle quota 429 too many requests size timeout token expired cors',
  'AuthService.GenerateAuthUrl': 'oauth login signin authorize redirect callback password sso',
  'AuthService.ExchangeToken': 'oauth code callback token expired',
  'SessionService.CheckSession': 'validate verify introspect logged in cookie session expired',
  'SessionService.RenewSession': 'refresh extend prolong session expired token expired',
  'SessionService.RevokeSession': 'logout log out signout sign-out end',
  'SessionService.RevokeUserSessions': 'logout log out signout sign-out everywhere all devices end',
  'AdminService.DeactivateUser': 'ban block suspend disable lock',
  'AdminService.CreateApiKey': 'secret credential rotate',
  'AdminService.UpdateApplication': 'oauth callback redirect branding logo sso single sign-on',
};
