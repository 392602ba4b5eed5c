/** The cookies of a browser: for its session, for its last sign-in, and for each login that it has started. */
import { toBase64url } from './login.ts';

/** As long as a login intent can be completed. */
const LOGIN_SECONDS = 30 * 60;
/** How many logins one browser may have open in its tabs. */
const MAX_LOGINS = 4;
/** Users return to the home path instead of a longer path. Browsers limit a cookie to 4 KB, servers limit all headers. */
const MAX_PATH_LENGTH = 512;

/** A login that the browser has started. */
export interface OpenLogin {
  /** The path that the user returns to after the login. Undefined for the home path. */
  readonly returnTo: string | undefined;
}

export class SessionCookies {
  readonly #prefix: string;
  readonly #attributes: string;
  readonly #idleSeconds: number | undefined;

  constructor({ isSecure, idleSeconds }: { readonly isSecure: boolean; readonly idleSeconds: number | undefined }) {
    this.#prefix = `${isSecure ? '__Host-' : ''}usher_`;
    this.#attributes = `Path=/; HttpOnly; SameSite=Lax${isSecure ? '; Secure' : ''}`;
    this.#idleSeconds = idleSeconds;
  }

  /** Returns the session ID, or an empty string without one. */
  readSession(header: string | undefined): string {
    return this.#find(header, 'session')?.value ?? '';
  }

  /** Returns the `Set-Cookie` that stores the session ID, or that removes the cookie if the ID is empty. */
  writeSession(sessionId: string): string {
    const lifetime = sessionId ? this.#idleSeconds : 0;
    return this.#write('session', sessionId, lifetime);
  }

  /** Returns the value that `toOwnSignIn` returned, or an empty string without one. */
  readSignIn(header: string | undefined): string {
    return this.#find(header, 'signed_in')?.value ?? '';
  }

  /** Returns the `Set-Cookie` that stores the value, or that removes the cookie if the value is empty. */
  writeSignIn(value: string): string {
    return this.#write('signed_in', value, value ? this.#idleSeconds : 0);
  }

  /** Returns the `Set-Cookie` that remove the session, and the sign-in if there is one. */
  removeAll(header: string | undefined): string[] {
    const signIn = this.readSignIn(header) ? [this.writeSignIn('')] : [];
    return [this.writeSession(''), ...signIn];
  }

  /** Returns the login with this state, or undefined if this browser did not start it. */
  readLogin(header: string | undefined, state: string): OpenLogin | undefined {
    const login = this.#find(header, `login_${state}`);
    return login && { returnTo: login.value ? decodePath(login.value) : undefined };
  }

  /**
   * Each login has a cookie of its own, so that a late reply does not overwrite the login of another tab. Removes the
   * oldest logins beyond the limit: browsers send the oldest cookies first.
   */
  writeLogin(header: string | undefined, state: string, returnTo: string | undefined): string[] {
    const open = this.#readAll(header).filter(({ name }) => name.startsWith(`${this.#prefix}login_`));
    const oldest = open.slice(0, Math.max(0, open.length - MAX_LOGINS + 1));
    // Base64url has no character that ends the value of a cookie, as a semicolon does.
    const path = returnTo && returnTo.length <= MAX_PATH_LENGTH ? toBase64url(new TextEncoder().encode(returnTo)) : '';
    return [
      ...oldest.map(({ name }) => this.#write(name.slice(this.#prefix.length), '', 0)),
      this.#write(`login_${state}`, path, LOGIN_SECONDS),
    ];
  }

  removeLogin(state: string): string {
    return this.#write(`login_${state}`, '', 0);
  }

  /** Parses by hand: the package `cookie` needs Node 22, and applications may run Node 20. */
  #readAll(header = ''): { name: string; value: string }[] {
    return header.split(/; */).map((pair) => {
      const [name = '', ...value] = pair.split('=');
      return { name, value: value.join('=') };
    });
  }

  #find(header: string | undefined, name: string) {
    return this.#readAll(header).find((cookie) => cookie.name === this.#prefix + name);
  }

  /** Without `seconds`, the cookie ends when the browser closes. */
  #write(name: string, value: string, seconds: number | undefined): string {
    const lifetime = seconds === undefined ? '' : `; Max-Age=${seconds}`;
    return `${this.#prefix}${name}=${value}; ${this.#attributes}${lifetime}`;
  }
}

function decodePath(value: string): string | undefined {
  try {
    const binary = atob(value.replace(/[-_]/g, (sign) => (sign === '-' ? '+' : '/')));
    return new TextDecoder().decode(Uint8Array.from(binary, (character) => character.charCodeAt(0)));
  } catch {
    return undefined;
  }
}
