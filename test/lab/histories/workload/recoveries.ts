import type { LoginPage } from '../../../support/login-browser.ts';
import { enterDigits, type MadeLink } from '../../../support/recovery.ts';
import { MAKE_LINK, REVOKE_LINK, USE_LINK } from '../checker/recovery-model.ts';
import { attempt, type Browser, type LoginPages, newBrowser, type Person, readRefusal } from './login-pages.ts';
import { pick, pickNewest, pickWeighted } from './random.ts';
import type { Scene } from './scene.ts';

const WEIGHTS = { make: 4, use: 12, revoke: 1 };
/** So many reach the last button at a time. Some press it at once, and others later. */
const BROWSERS = 3;
const PRESSES_NOW = 0.7;
const REMOVES = [['PASSKEYS'], ['IDENTITIES'], ['PASSKEYS', 'IDENTITIES']];

interface Link extends Pick<MadeLink, 'url' | 'spokenCode'> {
  readonly id: string;
  readonly removes: readonly string[];
}

/** A browser at the last button of a link. */
interface Reached {
  readonly link: Link;
  readonly browser: Browser;
  readonly page: LoginPage;
}

/** Recovery links of users. Several browsers reach the last button of each, and press it sooner or later. */
export class Recoveries {
  readonly #scene: Scene;
  readonly #pages: LoginPages;
  readonly #known = new Map<string, { readonly links: Link[]; readonly reached: Reached[] }>();

  constructor(scene: Scene, pages: LoginPages) {
    this.#scene = scene;
    this.#pages = pages;
  }

  /** Returns the page of the passkeys after a use that was answered. */
  async step(user: Pick<Person, 'userId'>): Promise<Reached | undefined> {
    const known = this.#known.get(user.userId) ?? { links: [], reached: [] };
    this.#known.set(user.userId, known);
    const { links, reached } = known;
    const link = pickNewest(links);
    const next = pickWeighted(WEIGHTS);
    if (!link || next === 'make') {
      links.push(...(await this.#make(user)));
    } else if (next === 'revoke') {
      // Its request does not name the user.
      const more = { userId: undefined, recoveryLinkId: link.id };
      await this.#pages.call(REVOKE_LINK, user, { input: { link: link.id }, more });
    } else {
      const arrived = await Promise.all(Array.from({ length: BROWSERS }, () => this.#reach(link)));
      reached.push(...arrived.flat());
      const pressing = reached.filter((each) => each.link === link && Math.random() < PRESSES_NOW);
      for (const each of pressing) reached.splice(reached.indexOf(each), 1);
      const used = await Promise.all(pressing.map((each) => this.#use(user, each)));
      return used.find((each) => each !== undefined);
    }
    return undefined;
  }

  async #make(user: Pick<Person, 'userId'>): Promise<Link[]> {
    // Without a primary it cannot, and then the limit may be reached.
    if (!(await attempt(() => this.#scene.allowRecoveryLinks()))) return [];
    const removes = pick(REMOVES);
    const more = { removes, reason: 'A history.', delayHours: 0 };
    const made = await this.#pages.call(MAKE_LINK, user, { input: { removes }, more });
    const { recoveryLink, url, spokenCode } = made ?? {};
    return recoveryLink && url && spokenCode ? [{ id: recoveryLink.recoveryLinkId, url, spokenCode, removes }] : [];
  }

  async #reach(link: Link): Promise<Reached[]> {
    const browser = newBrowser();
    const page = await attempt(() => enterDigits(this.#pages.at(browser), link));
    return page?.forms.some(({ action }) => action === '/recover/use') ? [{ link, browser, page }] : [];
  }

  async #use(user: Pick<Person, 'userId'>, { link, browser, page }: Reached): Promise<Reached | undefined> {
    let next: LoginPage | undefined;
    const answer = await this.#pages.record(
      USE_LINK,
      user,
      browser,
      async (headers) => {
        next = await this.#pages.at(browser).submit(page, '/recover/use', {}, headers);
        if (next.heading === 'Your passkeys') return { answer: {} };
        // Any other page follows a use, whose login something has ended meanwhile.
        return next.status === 404 || next.status >= 500 ? readRefusal(next) : 'lost';
      },
      { link: link.id, removes: link.removes },
    );
    return answer && next && { link, browser, page: next };
  }
}
