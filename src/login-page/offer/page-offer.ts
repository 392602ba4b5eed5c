/** What optional parts add to Usher's pages. They meet here, and do not know each other. */
import type { Call } from '../../domain/core/call.ts';
import type { NoticeLinks } from '../../domain/notices/due-notices.ts';
import type { User } from '../../domain/users/user.ts';
import type { Html } from '../../http/html.ts';
import type { Language, TextKey } from '../../texts/texts.ts';
import type { AlertKey } from '../pages/alerts.ts';
import type { PageView } from '../pages/view.ts';
import type { BrowserSignIn, RememberedSignIns } from './browser-sign-ins.ts';
import type { Action, LoginRequest, PageParts } from './login-request.ts';
import { type SignInWay, SignInWays } from './sign-in-ways.ts';

export interface PageOffer {
  /**
   * Returns its actions.
   *
   * @param account undefined without an account page
   * @param sections what all parts add to that page
   */
  createActions?(account: AccountPage | undefined, sections: readonly AccountSection[]): readonly Action[];
  readonly accountPage?: AccountPage;
  readonly accountSection?: AccountSection;
  readonly browserSignIn?: BrowserSignIn;
  /** The links in notices, to pages below the account page. */
  readonly noticeLinks?: NoticeLinks;
  readonly rememberedSignIns?: RememberedSignIns;
  readonly signInWay?: SignInWay;
}

/** Takes the offers of all parts together. */
export function toPageParts(offers: readonly PageOffer[]): PageParts {
  const signInWays = new SignInWays(offers.flatMap(({ signInWay = [] }) => signInWay));
  return {
    browserSignIns: offers.flatMap(({ browserSignIn = [] }) => browserSignIn),
    noticeLinks: Object.assign({}, ...offers.map(({ noticeLinks }) => noticeLinks)),
    providers: signInWays.providers,
    rememberedSignIns: offers.find(({ rememberedSignIns }) => rememberedSignIns)?.rememberedSignIns,
    signInWays,
  };
}

/** Returns the actions of all parts. */
export function createPartActions(offers: readonly PageOffer[]): readonly Action[] {
  const account = offers.find(({ accountPage }) => accountPage)?.accountPage;
  const sections = offers.flatMap(({ accountSection = [] }) => accountSection);
  return offers.flatMap(({ createActions }) => createActions?.(account, sections) ?? []);
}

/** What a part adds to the account page, in the order in which the parts are listed. */
export interface AccountSection {
  /** The texts that confirm a change, by the value of `done` in the query. */
  readonly notes?: Readonly<Record<string, TextKey>>;
  /** Reads and renders what it shows. All sections are read at once, so one statement costs no round trip. */
  show?(request: LoginRequest, view: AccountFormView, user: User): Promise<ShownSection>;
  /** Returns fields of the export of the data that Usher stores about the user. */
  exportData?(call: Call, userId: string): Promise<object>;
}

export interface ShownSection {
  /** Among the ways to sign in. */
  readonly ways?: Html;
  /** Above the ways to sign in. */
  readonly buttons?: Html | false;
  readonly panel?: Html | false;
}

/** Someone who is signed in to the account page. */
export interface Account {
  readonly user: User;
  readonly signIn: { readonly loginIntentId: string };
  /** Whether the person has signed in recently. Continuing a remembered sign-in proves nothing. */
  readonly isFresh: boolean;
  /** The call for changes by the user. They are refused if the sign-in ends before. */
  readonly call: Call;
}

type RunWithAccount = (request: LoginRequest, account: Account) => Promise<void>;

/** The account page, as actions of other parts use it. */
export interface AccountPage {
  /** Returns the account that is signed in, and extends its cookie by 15 minutes. */
  read(request: LoginRequest): Promise<Account | undefined>;
  /** Returns an action that shows a page to somebody who is signed in. */
  showing(run: (request: LoginRequest, account: Account, view: AccountFormView) => Promise<void>): Action['run'];
  /** Returns an action that demands a recent sign-in, and shows problems on the page of the form. */
  changing(form: string, run: RunWithAccount): Action['run'];
  /** Asks for a new sign-in, and then returns to the account page. */
  beginLogin(request: LoginRequest): Promise<void>;
  redirect(request: LoginRequest, path: '' | `/${string}`, query?: AccountQuery): void;
  viewOf(request: LoginRequest): AccountFormView;
  sendForm(request: LoginRequest, form: AccountForm): void;
  /** Returns the actions of the page behind a link in a notice. */
  createNoticeLinkActions<Facts>(link: NoticeLink<Facts, LoginRequest>): readonly Action[];
}

/** A link in a notice, with which the owner of the mailbox undoes what somebody else may have done. */
export interface NoticeLink<Facts, Request> {
  /** Below the account page. */
  readonly path: string;
  /** Returns what the token of the link holds, or undefined if it is of no use any more. */
  read(request: Request, token: string): Facts | undefined;
  /** What the button does. */
  text(language: Language, facts: Facts): Html;
  readonly submit: TextKey;
  readonly isDangerous: boolean;
  /** @throws ServiceError if the link is of no use any more */
  follow(request: Request, facts: Facts): Promise<void>;
  /** The title and the text of the page after it. */
  readonly done: readonly [title: TextKey, text: TextKey];
  /** What to do instead of a link that is of no use any more. */
  readonly invalid: TextKey;
}

export interface AccountQuery {
  readonly problem?: AlertKey;
  readonly [name: string]: string;
}

export interface AccountForm {
  /** Where the form is sent, below the account page. */
  readonly action: string;
  readonly title: TextKey;
  readonly text?: Html | undefined;
  readonly fields?: Html;
  readonly submit: TextKey;
  readonly isDangerous?: boolean;
}

export interface AccountFormView extends PageView {
  readonly path: string;
  /** The host of the public URL. */
  readonly host: string;
  /** Binds the form to the browser's cookie. */
  readonly formToken: string;
  /** The text about a problem, or an empty string. */
  readonly alert: string;
}
