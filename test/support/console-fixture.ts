/** A service with a console, its operators, and a browser without JavaScript for each. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Config } from '../../src/config/config.ts';
import { parseOperators } from '../../src/config/operators.ts';
import { deriveConsoleKeys } from '../../src/modules/console/keys.ts';
import { createSignInLink } from '../../src/modules/console/sign-in-link.ts';
import { TestClock } from './clock.ts';
import { createDirectory } from './directory.ts';
import { findFreePort } from './free-port.ts';
import { type HttpReply, request } from './http.ts';
import { LOGIN_CONFIG, newAddress, textOf } from './login-browser.ts';
import { Mailbox } from './mail-server.ts';
import { createTenant, startTestService, type Tenant, type TestService, type TestServiceOptions } from './service.ts';

export const OPERATORS = {
  viewer: 'vera@example.com',
  support: 'sam@example.com',
  admin: 'ada@example.com',
} as const;

interface ConsoleForm {
  readonly action: string;
  readonly fields: Readonly<Record<string, string>>;
  /** The same with each of several values. */
  readonly pairs: readonly (readonly [name: string, value: string])[];
}

export interface ConsoleReply extends HttpReply {
  readonly heading: string;
  readonly text: string;
  readonly forms: readonly ConsoleForm[];
  /** The facts of the page by name. */
  readonly facts: Readonly<Record<string, string>>;
  /** The cells of each row of its tables. */
  readonly rows: readonly (readonly string[])[];
  readonly location: string | undefined;
}

export class ConsoleFixture implements AsyncDisposable {
  readonly clock: TestClock;
  readonly mailbox: Mailbox;
  readonly service: TestService;
  readonly tenant: Tenant;
  readonly url: string;
  readonly operatorsFile: string;

  private constructor(
    parts: Pick<ConsoleFixture, 'clock' | 'mailbox' | 'service' | 'tenant' | 'url' | 'operatorsFile'>,
  ) {
    this.clock = parts.clock;
    this.mailbox = parts.mailbox;
    this.service = parts.service;
    this.tenant = parts.tenant;
    this.url = parts.url;
    this.operatorsFile = parts.operatorsFile;
  }

  /** `hasMailServer` if the settings have one, which takes the place of the mailbox. */
  static async open({
    config,
    hasMailServer = false,
    ...options
  }: TestServiceOptions & { readonly config?: Partial<Config>; readonly hasMailServer?: boolean } = {}) {
    const clock = new TestClock();
    const mailbox = new Mailbox();
    const port = await findFreePort();
    const directory = await createDirectory();
    const operatorsFile = join(directory, 'operators');
    const text = Object.entries(OPERATORS)
      .map(([role, email]) => `${email} ${role}\n`)
      .join('');
    await writeFile(operatorsFile, text);
    const url = `http://localhost:${port}`;
    const service = await startTestService({
      clock: clock.read,
      ...(!hasMailServer && { sendMail: mailbox.sendMail }),
      ...options,
      config: {
        ...LOGIN_CONFIG,
        consolePort: port,
        operators: parseOperators(text),
        operatorsFile,
        ...config,
      },
    });
    const tenant = await createTenant(service, { name: 'Shop' });
    return new ConsoleFixture({ clock, mailbox, service, tenant, url, operatorsFile });
  }

  readonly close = () => this.service.close();
  readonly [Symbol.asyncDispose] = this.close;

  /** Returns a new link for the operator, as `npm run console` prints it. */
  createLink(email: string): string {
    const keys = deriveConsoleKeys(this.service.config.secrets.encryptionKeys ?? []);
    return createSignInLink(keys, this.url, email, this.clock.read());
  }

  /** Returns a browser in which the operator is signed in. */
  async signIn(email: string): Promise<ConsoleBrowser> {
    // Who has signed in last must be unique.
    this.clock.advance(1);
    const browser = new ConsoleBrowser(this.url);
    const reply = await browser.useLink(this.createLink(email));
    if (reply.location !== '/') throw new Error(`${email} is not signed in: ${reply.status} ${reply.heading}`);
    return browser;
  }

  /** Returns what the audit log has of operators, the latest first. A clock that stands still leaves it to the table. */
  async readAudit(): Promise<{ actor: string; action: string; resource: string }[]> {
    return this.service.database.sql`
      select actor, action, resource from audit_events where actor_type = 'console' order by occurred_at desc, ctid desc`;
  }
}

/** A browser without JavaScript. It follows no redirect by itself, so that tests see where each leads. */
export class ConsoleBrowser {
  readonly cookies = new Map<string, string>();
  readonly #url: string;
  readonly #address = newAddress();

  constructor(url: string) {
    this.#url = url;
  }

  open(path: string, headers: Record<string, string> = {}): Promise<ConsoleReply> {
    return this.#send({ method: 'GET', path, headers: { 'sec-fetch-site': 'same-origin', ...headers } });
  }

  /** Presses the button of the page that a link of the server leads to. */
  async useLink(link: string): Promise<ConsoleReply> {
    const page = await this.open(link.slice(this.#url.length));
    const [form] = page.forms;
    return form ? this.post(form.action, form.fields) : page;
  }

  /** Opens a page, and those that it redirects to within the console. */
  async follow(path: string): Promise<ConsoleReply> {
    const reply = await this.open(path);
    return reply.location?.startsWith('/') ? this.follow(reply.location) : reply;
  }

  post(
    path: string,
    fields: Record<string, string> | [string, string][] | Uint8Array = {},
    headers: Record<string, string> = { 'sec-fetch-site': 'same-origin' },
  ): Promise<ConsoleReply> {
    const body = fields instanceof Uint8Array ? fields : new URLSearchParams(fields).toString();
    const type = { 'content-type': 'application/x-www-form-urlencoded' };
    return this.#send({ method: 'POST', path, headers: { ...type, ...headers }, body });
  }

  /** Fills in a form of the page, sends it, and follows the redirect after it. */
  async submit(page: ConsoleReply, action: string, typed: Record<string, string> = {}): Promise<ConsoleReply> {
    const form = page.forms.find((candidate) => candidate.action === action);
    if (!form) throw new Error(`No form for ${action} on ${page.heading}: ${page.forms.map((each) => each.action)}`);
    const kept = form.pairs
      .filter(([name]) => !(name in typed))
      .map(([name, value]): [string, string] => [name, value]);
    const reply = await this.post(action, [...kept, ...Object.entries(typed)]);
    return reply.location?.startsWith('/') ? this.follow(reply.location) : reply;
  }

  async #send({ headers, ...sent }: Parameters<typeof request>[1]): Promise<ConsoleReply> {
    const cookie = [...this.cookies].map((pair) => pair.join('=')).join('; ');
    const reply = await request(this.#url.replace('localhost', '127.0.0.1'), {
      ...sent,
      headers: { 'x-forwarded-for': this.#address, ...headers, ...(cookie && { cookie }) },
    });
    for (const given of reply.cookies) {
      const [, name = '', value = ''] = /^([^=]*)=([^;]*)/.exec(given) ?? [];
      if (/max-age=0\b/i.test(given)) this.cookies.delete(name);
      else this.cookies.set(name, value);
    }
    return readReply(reply);
  }
}

function readReply(reply: HttpReply): ConsoleReply {
  const { body, headers } = reply;
  const main = /<main.*<\/main>/s.exec(body)?.[0] ?? '';
  const shown = (part = '') => textOf(part).replace(/\s+/g, ' ').trim();
  expectTexts(main);
  return {
    ...reply,
    heading: textOf(/<h1[^>]*>(.*?)<\/h1>/s.exec(body)?.[1]).trim(),
    text: shown(main),
    forms: readForms(body),
    facts: Object.fromEntries(
      [...main.matchAll(/<dt>(.*?)<\/dt><dd>(.*?)<\/dd>/gs)].map(([, name, value]) => [shown(name), shown(value)]),
    ),
    rows: [...main.matchAll(/<tr>(<td.*?)<\/tr>/gs)].map(([, row = '']) =>
      [...row.matchAll(/<td[^>]*>(.*?)<\/td>/gs)].map(([, cell]) => shown(cell)),
    ),
    location: headers.location,
  };
}

/** Nobody is shown what only code has for a text. What others have stored or typed stands in attributes, code and fields. */
function expectTexts(main: string): void {
  const own = main
    .replace(/<(pre|textarea|code|bdi)\b[^>]*>.*?<\/\1>/gs, '')
    .replace(/ (aria-(?!describedby)[a-z]+|data-[a-z-]+|value|href)="[^"]*"/g, '');
  const [shown] = /.{0,80}(true(?! or false)|undefined|NaN|\[object)(?![a-z]).{0,20}/.exec(own) ?? [];
  if (shown) throw new Error(`A page shows ${shown}`);
}

function readForms(html: string): ConsoleForm[] {
  return [...html.matchAll(/<form([^>]*)>(.*?)<\/form>/gs)].map(([, form = '', content = '']) => ({
    action: attribute(form, 'action'),
    fields: Object.fromEntries(readFields(content)),
    pairs: readFields(content),
  }));
}

/** Returns what a browser would send of a form that nobody has changed. */
function readFields(content: string): [string, string][] {
  const inputs = [...content.matchAll(/<input([^>]*)>/g)]
    .map(([, input = '']) => input)
    .filter((input) => !/^(checkbox|radio)$/.test(attribute(input, 'type')) || / checked/.test(input))
    .map((input): [string, string] => [attribute(input, 'name'), attribute(input, 'value')]);
  const areas = [...content.matchAll(/<textarea([^>]*)>\n?(.*?)<\/textarea>/gs)].map(
    ([, area = '', text = '']): [string, string] => [attribute(area, 'name'), textOf(text)],
  );
  const selects = [...content.matchAll(/<select([^>]*)>(.*?)<\/select>/gs)].map(
    ([, select = '', options = '']): [string, string] => {
      const chosen = /<option([^>]*) selected/.exec(options)?.[1] ?? /<option([^>]*)>/.exec(options)?.[1] ?? '';
      return [attribute(select, 'name'), attribute(chosen, 'value')];
    },
  );
  return [...inputs, ...areas, ...selects].filter(([name]) => name !== '');
}

function attribute(tag: string, name: string): string {
  return textOf(new RegExp(` ${name}="([^"]*)"`).exec(tag)?.[1]);
}
