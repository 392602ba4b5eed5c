import { html } from '../../../http/html.ts';
import { type PageQuery, renderQuery } from '../../../login-page/page-place.ts';
import type { PageContent } from '../../../login-page/pages/document.ts';
import { renderFooter } from '../../../login-page/pages/footer.ts';
import { renderHeading, renderMark } from '../../../login-page/pages/parts.ts';
import type { PageView } from '../../../login-page/pages/view.ts';

interface LogOutView extends PageView {
  readonly formToken: string;
  /** What the logout needs again. */
  readonly query: PageQuery | undefined;
}

/** Renders the question whether the person wants to sign out, because any site can send a browser to the logout. */
export function renderLogOut(view: LogOutView): PageContent {
  const { language, application, place, formToken, query } = view;
  const title = language.text('oidc.logOut.title');
  const site = application?.site;
  const back = site && language.html('error.back', { application: application.name });
  return {
    language,
    application,
    title,
    body: html`${application && renderMark({ application, applicationName: application.name })}
${renderHeading(html`${title}`, html`<p>${language.text('oidc.logOut.text')}</p>`)}
<form class="ways" method="post" action="${place.path}">
${renderQuery(query)}<input type="hidden" name="token" value="${formToken}"><button>${language.text('account.signOut')}</button>
${site && html`<a class="button second" href="${site.origin}">${back}</a>\n`}</form>`,
    footer: renderFooter(view),
  };
}
