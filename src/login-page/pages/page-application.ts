/** The application of a login, as its pages show it. */
import { logoPathOf } from '../../domain/applications/find-logo.ts';
import { ACCOUNT_APPLICATION_ID, OWN_APPLICATION_IDS } from '../../domain/core/own-applications.ts';
import type { LoginApplication } from '../../domain/login/find-login-application.ts';
import type { LoginIntent } from '../../domain/login/login-intent.ts';
import type { Language } from '../../texts/texts.ts';

interface PageLogo {
  readonly path: string;
  /** In CSS pixels, like the height. */
  readonly width: number;
  readonly height: number;
}

export interface PageApplication {
  readonly name: string;
  /** Whether it is an application of Usher itself. */
  readonly isUsher?: boolean;
  readonly accentColor: string | null;
  readonly termsUri: string | null;
  readonly privacyUri: string | null;
  readonly supportUri: string | null;
  readonly initiateLoginUri: string | null;
  readonly logo: PageLogo | undefined;
  readonly darkLogo: PageLogo | undefined;
  /** The site to which the person returns. Undefined if all redirect URIs have private schemes. */
  readonly site: { readonly origin: string; readonly host: string } | undefined;
}

/** In CSS pixels. Higher logos are scaled down. */
const MAX_LOGO_HEIGHT = 48;

/** @param loginPath the path of the login page in its public URL */
export function toPageApplication(
  login: LoginApplication | LoginIntent,
  language: Language,
  loginPath: string,
): PageApplication {
  const { applicationId, branding } = login;
  const { logoDigest, logoSize, darkLogoDigest, darkLogoSize, loginMethods: _, ...others } = branding;
  const base = loginPath.replace(/\/login$/, '');
  const toLogo = (theme: 'light' | 'dark', digest: Buffer | null, size: number[] | null): PageLogo | undefined =>
    digest && size ? { path: base + logoPathOf(applicationId, theme, digest), ...scale(size) } : undefined;
  return {
    ...others,
    name: nameApplication(login, language),
    isUsher: OWN_APPLICATION_IDS.includes(applicationId),
    logo: toLogo('light', logoDigest, logoSize),
    darkLogo: toLogo('dark', darkLogoDigest, darkLogoSize),
    site: siteOf('redirectUris' in login ? login.redirectUris : [login.redirectUri]),
  };
}

export function toMailApplication(login: LoginIntent, language: Language) {
  return { name: nameApplication(login, language), ...login.branding };
}

/** Returns the name of the application. That of the account page is translated. */
function nameApplication(
  { applicationId, applicationName }: LoginApplication | LoginIntent,
  language: Language,
): string {
  return applicationId === ACCOUNT_APPLICATION_ID ? language.text('account.title') : applicationName;
}

function scale([width = 1, height = 1]: readonly number[]): { width: number; height: number } {
  const factor = Math.min(1, MAX_LOGO_HEIGHT / height);
  return { width: Math.max(1, Math.round(width * factor)), height: Math.round(height * factor) };
}

/** Returns the site of the first http or https URI. */
function siteOf(redirectUris: readonly string[]): PageApplication['site'] {
  const uri = redirectUris.find((each) => /^https?:/i.test(each));
  if (uri === undefined) return undefined;
  const { origin, host } = new URL(uri);
  return { origin, host };
}
