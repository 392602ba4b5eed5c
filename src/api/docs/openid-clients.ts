/** Settings of products that sign users in with Usher. A test holds them against `src/modules/oidc/endpoints/README.md`. */

interface ProductSettings {
  readonly name: string;
  /** The evidence that the settings work. */
  readonly source: 'run in tests' | 'from its documentation';
  readonly redirectUri: string;
  readonly settings: string;
}

export const OPENID_CLIENTS: readonly ProductSettings[] = [
  {
    name: 'Auth.js',
    source: 'run in tests',
    redirectUri: 'https://app.example.com/auth/callback/usher',
    settings: `providers: [{
  id: 'usher', name: 'Usher', type: 'oidc', issuer: 'https://login.example.com',
  clientId: 'client_…', clientSecret: 'usk_…',
  checks: ['pkce', 'state', 'nonce'],
}]`,
  },
  {
    name: 'mod_auth_openidc',
    source: 'run in tests',
    redirectUri: 'https://app.example.com/callback',
    settings: `OIDCProviderMetadataURL https://login.example.com/.well-known/openid-configuration
OIDCClientID client_…
OIDCClientSecret "usk_…"
OIDCRedirectURI https://app.example.com/callback
OIDCCryptoPassphrase a-long-random-text
OIDCPKCEMethod S256
OIDCScope "openid profile email"
# backchannelLogoutUri: https://app.example.com/callback?logout=backchannel
<Location />
  AuthType openid-connect
  Require valid-user
</Location>`,
  },
  {
    name: 'Grafana',
    source: 'from its documentation',
    redirectUri: 'https://grafana.example.com/login/generic_oauth',
    settings: `[auth.generic_oauth]
enabled = true
name = Usher
client_id = client_…
client_secret = usk_…
scopes = openid profile email groups offline_access
auth_url = https://login.example.com/oidc/authorize
token_url = https://login.example.com/oidc/token
api_url = https://login.example.com/oidc/userinfo
login_attribute_path = email
# Admin only after a passkey that checks fingerprint, face or PIN: without, acr is 1
role_attribute_path = contains(groups[*], 'grafana-admins') && acr == 'phr' && 'Admin' || contains(groups[*], 'editors') && 'Editor' || 'Viewer'
use_pkce = true
use_refresh_token = true`,
  },
  {
    name: 'GitLab',
    source: 'from its documentation',
    redirectUri: 'https://gitlab.example.com/users/auth/openid_connect/callback',
    settings: `gitlab_rails['omniauth_providers'] = [{
  name: 'openid_connect', label: 'Usher',
  args: {
    name: 'openid_connect', scope: ['openid', 'profile', 'email', 'groups'], response_type: 'code',
    issuer: 'https://login.example.com', discovery: true, client_auth_method: 'basic', uid_field: 'sub', pkce: true,
    client_options: {
      identifier: 'client_…', secret: 'usk_…',
      redirect_uri: 'https://gitlab.example.com/users/auth/openid_connect/callback',
      gitlab: { groups_attribute: 'groups', admin_groups: ['gitlab-admins'] }
    },
    allow_authorize_params: ['acr_values']
  },
  # Admin mode with a passkey only: GitLab 17.11, with the feature flag omniauth_step_up_auth_for_admin_mode
  step_up_auth: { admin_mode: {
    id_token: { required: { acr: 'phr' } }, params: { acr_values: 'phr', prompt: 'login' }
  } }
}]`,
  },
  {
    name: 'oauth2-proxy',
    source: 'from its documentation',
    redirectUri: 'https://app.example.com/oauth2/callback',
    settings: `provider = "oidc"
oidc_issuer_url = "https://login.example.com"
client_id = "client_…"
client_secret = "usk_…"
redirect_url = "https://app.example.com/oauth2/callback"
scope = "openid profile email groups"
allowed_groups = ["editors"]
code_challenge_method = "S256"
cookie_secret = "…" # openssl rand -base64 32 | tr -- '+/' '-_'
cookie_refresh = "10m"
email_domains = ["*"]`,
  },
  {
    name: 'Spring Boot',
    source: 'from its documentation',
    redirectUri: 'https://app.example.com/login/oauth2/code/usher',
    settings: `# Spring Boot 4 or later; earlier ones need requirePkce: false, or a customizer with
# OAuth2AuthorizationRequestCustomizers.withPkce()
spring.security.oauth2.client.provider.usher.issuer-uri=https://login.example.com
spring.security.oauth2.client.registration.usher.client-id=client_…
spring.security.oauth2.client.registration.usher.client-secret=usk_…
spring.security.oauth2.client.registration.usher.scope=openid,profile,email`,
  },
  {
    name: 'ASP.NET Core',
    source: 'from its documentation',
    redirectUri: 'https://app.example.com/signin-oidc',
    settings: `builder.Services.AddAuthentication(options => {
    options.DefaultScheme = "Cookies";
    options.DefaultChallengeScheme = "oidc";
}).AddCookie("Cookies").AddOpenIdConnect("oidc", options => {
    options.Authority = "https://login.example.com";
    options.ClientId = "client_…";
    options.ClientSecret = "usk_…";
    options.ResponseType = "code";
    options.SaveTokens = true;
    options.Scope.Add("email");
    options.MapInboundClaims = false;
});`,
  },
  {
    name: 'Nextcloud',
    source: 'from its documentation',
    redirectUri: 'https://cloud.example.com/apps/user_oidc/code',
    settings: `# user_oidc 6.1 or later; earlier ones need requirePkce: false
# Without pretty URLs the redirect URI begins with https://cloud.example.com/index.php/apps/
# backchannelLogoutUri, 7.4 or later: https://cloud.example.com/apps/user_oidc/backchannel-logout/Usher
occ app:enable user_oidc
occ user_oidc:provider Usher --clientid=client_… --clientsecret=usk_… \\
  --discoveryuri=https://login.example.com/.well-known/openid-configuration \\
  --scope="openid profile email groups" --mapping-uid=sub --unique-uid=0 --mapping-groups=groups --group-provisioning=1`,
  },
  {
    name: 'Gitea',
    source: 'from its documentation',
    redirectUri: 'https://git.example.com/user/oauth2/usher/callback',
    settings: `# requirePkce: false: Gitea sends no PKCE, as of 1.26
gitea admin auth add-oauth --name usher --provider openidConnect --key client_… --secret usk_… \\
  --auto-discover-url https://login.example.com/.well-known/openid-configuration --scopes "email profile"`,
  },
  {
    name: 'Argo CD',
    source: 'from its documentation',
    redirectUri: 'https://argocd.example.com/auth/callback',
    settings: `# Argo CD 3.1 or later; earlier ones need requirePkce: false, and no enablePKCEAuthentication
# argocd-cm
oidc.config: |
  name: Usher
  issuer: https://login.example.com
  clientID: client_…
  clientSecret: $oidc.usher.clientSecret # in argocd-secret
  enablePKCEAuthentication: true
  requestedScopes: [openid, profile, email, groups]
# argocd-rbac-cm
policy.csv: |
  g, argocd-admins, role:admin`,
  },
];
