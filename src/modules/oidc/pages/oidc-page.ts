/** The request, parts and errors that the pages of OpenID Connect share. */

import type { Call } from '../../../domain/core/call.ts';
import type { HttpContext } from '../../../http/http-context.ts';
import type { LanguageChoice, PagePlace } from '../../../login-page/browser/language-choice.ts';
import type { NetworkLimit } from '../../../login-page/browser/network-limit.ts';
import type { LoginPageParts } from '../../../login-page/offer/login-request.ts';
import { ERROR_PAGES, type ErrorPage } from '../../../login-page/pages/error.ts';
import type { ClientDocuments } from '../clients/client-documents.ts';
import type { OidcClients } from '../clients/oidc-clients.ts';
import type { Resources } from '../clients/resources.ts';
import { OidcError, type OidcErrorName } from '../domain/oidc-error.ts';
import type { Parameters } from '../domain/parameters.ts';
import type { OidcProvider } from '../domain/tokens/provider.ts';
import type { OidcCall } from '../endpoints/oidc-call.ts';

export interface OidcPageParts
  extends Pick<
    LoginPageParts,
    'authPageUrl' | 'browserSignIns' | 'logins' | 'notices' | 'onSignedOut' | 'rememberedSignIns' | 'tokens'
  > {
  readonly sessionMaxAgeSeconds: number;
  readonly oidc: OidcProvider;
  readonly clients: OidcClients;
  readonly documents: ClientDocuments;
  readonly resources: Resources;
  /** The limit of logouts with an ID token, because checking its signature takes CPU time. */
  readonly logouts: NetworkLimit;
}

export interface OidcPageRequest {
  readonly context: HttpContext;
  readonly oidcCall: OidcCall;
  readonly call: Call;
  readonly parameters: Parameters;
  /** The query, or the posted form. */
  readonly form: string;
  readonly languages: LanguageChoice;
  readonly place: PagePlace;
  /** Whether the public URL is https. */
  readonly isSecure: boolean;
  readonly parts: OidcPageParts;
}

export interface OidcPage {
  readonly path: string;
  readonly methods: readonly ('GET' | 'POST')[];
  /** The parameters that the page needs to be shown again, in another language. */
  readonly needs: readonly string[];
  /** @throws PageProblem, or AnsweredError if the application gets the error */
  run(request: OidcPageRequest): Promise<void>;
}

/** An error that is shown to the person, because it can be sent to no application. */
export class PageProblem extends OidcError {
  readonly page: ErrorPage;

  /** @param detail for the log only */
  constructor(
    page: ErrorPage,
    reason: OidcErrorName = 'invalid_request',
    status: number = ERROR_PAGES[page].status,
    detail?: string,
  ) {
    super(reason, { status, detail });
    this.page = page;
  }
}

/** An error that was already sent to the application. */
export class AnsweredError extends OidcError {
  constructor({ reason, message }: OidcError) {
    super(reason, { description: message });
  }
}

/** @throws PageProblem if the network of the browser, its site, or all of them have too few permits left */
export function takeOidcPermits({ context, call }: OidcPageRequest, limit: NetworkLimit, count = 1): void {
  if (!limit.take(context.clientAddress, call.now, count)) throw new PageProblem('too-many', 'temporarily_unavailable');
}
