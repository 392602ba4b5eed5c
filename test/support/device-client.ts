/** A device that signs in (RFC 8628), and the person who lets it in. */
import { DEVICE_GRANT } from '../../src/modules/oidc/domain/devices/device-codes.ts';
import { LoginBrowser, type LoginPage, textOf } from './login-browser.ts';
import type { LoginFixture } from './login-fixture.ts';
import { basicOf, post } from './oidc-client.ts';
import type { Tenant } from './service.ts';

export interface Device {
  readonly deviceCode: string;
  readonly userCode: string;
}

type Options = {
  readonly isPublic?: boolean;
  readonly scope?: string;
  readonly address?: string;
  /** Further parameters, such as `resource`. */
  readonly more?: Readonly<Record<string, string>>;
};

export function requestDeviceCode(
  service: { url: string },
  tenant: Tenant,
  { isPublic = false, scope = 'openid email', address, more }: Options = {},
) {
  const headers = { ...(!isPublic && basicOf(tenant)), ...(address && { 'x-forwarded-for': address }) };
  const fields = { scope, ...more, ...(isPublic && { client_id: tenant.clientId }) };
  return post(service, '/oidc/device_authorization', fields, headers);
}

/** Begins the login of a device. */
export async function beginDevice(service: { url: string }, tenant: Tenant, options?: Options): Promise<Device> {
  const { status, body } = await requestDeviceCode(service, tenant, options);
  if (status !== 200) throw new Error(`No device code: ${JSON.stringify(body)}`);
  return { deviceCode: body.device_code ?? '', userCode: body.user_code ?? '' };
}

/** Asks for the tokens of the device. */
export function poll(
  service: { url: string },
  tenant: Tenant,
  { deviceCode }: Pick<Device, 'deviceCode'>,
  { isPublic = false, more }: Pick<Options, 'isPublic' | 'more'> = {},
) {
  const fields = { grant_type: DEVICE_GRANT, device_code: deviceCode, ...more };
  return isPublic
    ? post(service, '/oidc/token', { ...fields, client_id: tenant.clientId })
    : post(service, '/oidc/token', fields, basicOf(tenant));
}

/** Enters the code, and returns the page about the device. */
export async function enterUserCode(browser: LoginBrowser, userCode: string): Promise<LoginPage> {
  return browser.submit(await browser.open('/device'), '/device', { user_code: userCode });
}

/** Returns the path to which the page about the device, or the answer to a login, leads. */
export function pathIn({ body, location }: Pick<LoginPage, 'body' | 'location'>): string {
  const href = location ?? /<a class="button" href="([^"]*)"/.exec(body)?.[1] ?? '';
  const { pathname, search } = new URL(textOf(href).replaceAll('&amp;', '&'));
  return pathname + search;
}

/** Signs a user in behind the page about the device, and returns the page that asks for the decision. */
export async function signInForDevice(
  fixture: LoginFixture,
  of: Tenant,
  { userCode }: Pick<Device, 'userCode'>,
  by: { readonly browser?: LoginBrowser } & Omit<Parameters<LoginFixture['readyByEmail']>[0], 'browser'> = {},
) {
  const browser = by.browser ?? new LoginBrowser(fixture.service);
  const asked = await enterUserCode(browser, userCode);
  const path = pathIn(asked);
  const loginIntentId = new URLSearchParams(path.split('?')[1]).get('intent') ?? '';
  const login = { loginIntentId, path, origin: '', state: '' };
  const { submit, user } = await fixture.readyByEmail({ ...by, of, browser, login });
  const approvePath = pathIn(await submit());
  return { browser, user, asked, approvePath, page: await browser.open(approvePath) };
}

/** Presses the button. */
export function decide(
  { browser, page }: { readonly browser: LoginBrowser; readonly page: LoginPage },
  decision: 'allow' | 'deny',
): Promise<LoginPage> {
  const action = '/device/approve';
  const form = page.forms.find((each) => each.action === action && each.fields.decision === decision);
  if (!form) throw new Error(`No button to ${decision} on the page ${page.heading}`);
  return browser.post(action, form.fields);
}
