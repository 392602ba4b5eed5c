/** The form of an application: required fields first, the others in groups that open. */
import { LOGIN_METHODS } from '../../../config/login-methods.ts';
import type { ApplicationDetails } from '../../../domain/applications/application.ts';
import { allowsMethod } from '../../../domain/applications/branding.ts';
import { isRegistrable } from '../../../domain/applications/redirect-uri.ts';
import { nameRequiredAssurance, ONE_FACTOR } from '../../../domain/core/assurance.ts';
import { type Html, html } from '../../../http/html.ts';
import type { ConsoleRequest } from '../console-request.ts';
import { renderCheck, renderEditedSelect, renderField, textOrNull } from '../parts/form.ts';
import { QUICK_START_URI } from '../parts/quick-start.ts';

type Chosen = Omit<ApplicationDetails, 'id' | 'clientId' | 'createdAt'>;

/** Returns Usher's own methods, the providers, and stored methods of the application that no longer exist. */
function methodsOf(
  { parts }: ConsoleRequest,
  application?: Pick<Chosen, 'loginMethods'>,
): (readonly [string, string])[] {
  const providers = parts.providers.all.map(({ id, name }) => [id, name] as const);
  const known = [...Object.entries(LOGIN_METHODS), ...providers];
  const others = (application?.loginMethods ?? []).filter((given) => known.every(([method]) => method !== given));
  return [...known, ...others.map((given) => [given, given] as const)];
}

export const APPLICATION_FIELDS = [
  ...['name', 'redirectUris', 'initiateLoginUri', 'accentColor', 'termsUri', 'privacyUri', 'supportUri'],
  ...[
    'signUpEmailDomains',
    'sessionMaxAgeSeconds',
    'sessionIdleSeconds',
    'postLogoutRedirectUris',
    'backchannelLogoutUri',
    'attributeClaims',
    'resourceUri',
    'resourceScopes',
    'machineClientIds',
  ],
];

const DEMANDS = [
  ['ANY', 'In any way'],
  ['TWO_FACTORS', 'With two factors: a passkey, or what a provider or your own page checks'],
  ['PHISHING_RESISTANT', 'With a passkey that checks fingerprint, face or PIN'],
] as const;

/** Renders the fields of a new or an existing application. The kind of a new one decides about OpenID Connect. */
export function renderApplicationFields(request: ConsoleRequest, application?: Chosen): Html {
  const field = (
    name: keyof Chosen & string,
    label: string,
    options: Partial<Parameters<typeof renderField>[1]> = {},
  ) => {
    const value = application?.[name];
    const text = Array.isArray(value) ? value.join('\n') : value === null || value === undefined ? '' : String(value);
    return renderField(request, { name, label, value: text, ...options });
  };
  const check = (
    name:
      | 'allowSignUp'
      | 'allowInvitations'
      | 'askName'
      | 'singleSignOn'
      | 'restrictAccess'
      | 'openIdConnect'
      | 'requirePkce'
      | 'publicClient'
      | 'deviceLogin'
      | 'allowMetadataClients',
    label: string,
  ) => renderCheck(request, { name, label, isChecked: application?.[name] ?? false });
  const group = (title: string, content: Html, isOpen = request.problem !== undefined) =>
    renderGroup(title, content, isOpen);
  return html`${field('name', 'Name', { isRequired: true, note: 'Shown on the login page, and as the sender of e-mails.' })}
${field('redirectUris', 'Redirect URIs', { isRequired: true, rows: 3, note: html`One per line.${!application && html` For the quick starts: <code>${QUICK_START_URI}</code>, on any port.`}${describeRefused(request)}` })}
${field('initiateLoginUri', 'Where a new sign-in starts', { note: '“Sign in again” on error pages leads here.' })}
${group(
  'Ways to sign in, and people',
  html`<fieldset class="check field"><legend>Ways to sign in</legend>
${methodsOf(request, application).map(([value, label]) => renderCheck(request, { name: 'loginMethods', value, label, isChecked: !application || allowsMethod(application, value) }))}<p>The login page offers those that this Usher has enabled.</p></fieldset>
<fieldset class="check field"><legend>People</legend>
${check('allowSignUp', 'New people may sign up')}${check('allowInvitations', 'Its API keys may invite people by e-mail')}${check('askName', 'Ask new people for their name')}${check('singleSignOn', 'Continue as: people who signed in to another application need no new code')}${check('restrictAccess', 'Only people whom you let in: those added here or invited, and members of groups with access')}</fieldset>
${renderEditedSelect(request, { name: 'requiredAssurance', label: 'How surely people must sign in', options: DEMANDS, saved: nameRequiredAssurance(application?.requiredAssurance ?? ONE_FACTOR), note: 'If you demand more, earlier sign-ins that are weaker end within 15 minutes.' })}
${field('signUpEmailDomains', 'Domains of new people’s addresses', { rows: 2, placeholder: 'example.com', note: 'One per line, with their sub-domains. Empty: all. Known people sign in with any address.' })}
${field('attributeClaims', 'Attributes of people that it sees', { rows: 2, placeholder: 'plan', note: 'One name per line, at most ten. Operators write attributes; applications see none but these.' })}`,
  true,
)}
${group(
  'Look and links',
  html`${field('accentColor', 'Accent colour', { placeholder: '#0f5e5a', note: 'Usher darkens or lightens it where text would be hard to read.' })}
${field('termsUri', 'Terms', { type: 'url' })}
${field('privacyUri', 'Privacy', { type: 'url' })}
${field('supportUri', 'Help', { note: 'An https address, or mailto:. Replies to e-mails also go there.' })}
${request.params.a === undefined && html`<p class="small soft">You can add a logo once the application is created.</p>`}`,
)}
${group(
  'Sessions',
  html`${field('sessionMaxAgeSeconds', 'Longest session, in seconds', { note: 'Empty: SESSION_MAX_AGE applies.' })}
${field('sessionIdleSeconds', 'How long people can be idle, in seconds', { note: '900 signs them out after 15 minutes.' })}`,
)}
${group(
  'OpenID Connect',
  html`${
    application &&
    html`<fieldset class="check field"><legend>Clients</legend>
${check('openIdConnect', 'May use OpenID Connect')}${check('requirePkce', 'Must send a code challenge (PKCE)')}${check('publicClient', 'May be a browser or mobile app without a secret')}${check('deviceLogin', 'May sign in devices without a browser, such as terminals')}</fieldset>`
  }
${field('postLogoutRedirectUris', 'Allowed URLs after a logout', { rows: 2, note: 'One per line.' })}
${field('backchannelLogoutUri', 'Back-channel logout', { type: 'url' })}`,
)}
${group(
  'Access for other clients, such as assistants',
  html`${field('resourceUri', 'Resource', { type: 'url', note: 'The URL of your API or MCP server. Other clients get tokens for it, which this application introspects.' })}
${renderField(request, { name: 'resourceScopes', label: 'Scopes', rows: 2, value: application?.resourceScopes.map((scope) => `${scope.name} ${scope.description}`).join('\n'), placeholder: 'orders:read See your orders', note: 'One per line: its name, and what people read before they consent.' })}
<fieldset class="check field"><legend>Clients</legend>
${check('allowMetadataClients', 'Clients that nobody has registered may ask people for access')}</fieldset>
${field('machineClientIds', 'Client IDs of applications that get tokens', { rows: 2, placeholder: 'client_…', note: 'One per line. They get tokens without a person (client_credentials), and for their people.' })}`,
)}`;
}

/** Renders a group of fields. In a refused form all groups are open, because any of them may have the error. */
function renderGroup(title: string, content: Html, isOpen: boolean): Html {
  return html`<details class="group"${isOpen && html` open`}><summary>${title}</summary><div class="fields">${content}</div></details>\n`;
}

function describeRefused({ problem }: ConsoleRequest): string {
  if (!problem?.error.violations.some(({ field }) => field === 'redirectUris')) return '';
  const lines = (problem.form.get('redirectUris') ?? '').split('\n').map((line) => line.trim());
  const refused = lines.flatMap((line, index) => (line !== '' && !isRegistrable(line) ? [index + 1] : []));
  return refused.length > 0 ? ` Refused: line ${refused.join(', ')}.` : '';
}

/** Returns the fields of the request. Empty fields are cleared. */
export function readApplication(request: ConsoleRequest) {
  const { form } = request;
  const lines = (name: string) =>
    (form.get(name) ?? '')
      .split('\n')
      .map((line) => line.trim())
      .filter((line) => line !== '');
  const methods = form.getAll('loginMethods');
  return {
    name: form.get('name') ?? '',
    redirectUris: lines('redirectUris'),
    initiateLoginUri: textOrNull(form, 'initiateLoginUri'),
    // If all are checked, stores no restriction, so that methods that are enabled later also count.
    loginMethods: methodsOf(request).every(([method]) => methods.includes(method)) ? [] : methods,
    allowSignUp: form.has('allowSignUp'),
    allowInvitations: form.has('allowInvitations'),
    signUpEmailDomains: lines('signUpEmailDomains'),
    attributeClaims: lines('attributeClaims'),
    askName: form.has('askName'),
    singleSignOn: form.has('singleSignOn'),
    restrictAccess: form.has('restrictAccess'),
    requiredAssurance: form.get('requiredAssurance') ?? DEMANDS[0][0],
    accentColor: textOrNull(form, 'accentColor'),
    termsUri: textOrNull(form, 'termsUri'),
    privacyUri: textOrNull(form, 'privacyUri'),
    supportUri: textOrNull(form, 'supportUri'),
    sessionMaxAgeSeconds: numberOrNull(form, 'sessionMaxAgeSeconds'),
    sessionIdleSeconds: numberOrNull(form, 'sessionIdleSeconds'),
    openIdConnect: form.has('openIdConnect'),
    requirePkce: form.has('requirePkce'),
    publicClient: form.has('publicClient'),
    deviceLogin: form.has('deviceLogin'),
    postLogoutRedirectUris: lines('postLogoutRedirectUris'),
    backchannelLogoutUri: textOrNull(form, 'backchannelLogoutUri'),
    resourceUri: textOrNull(form, 'resourceUri'),
    resourceScopes: lines('resourceScopes').map((line) => {
      const [name = '', ...words] = line.split(/\s+/);
      return { name, description: words.join(' ') };
    }),
    allowMetadataClients: form.has('allowMetadataClients'),
    machineClientIds: lines('machineClientIds'),
  };
}

function numberOrNull(form: URLSearchParams, name: string): number | null {
  const text = textOrNull(form, name);
  return text === null ? null : Number(text);
}
