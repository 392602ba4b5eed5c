/** The clients that act for a person, on the account page. */
import { endClient, exportConsents, listUserClients, type UsedClient } from '../../domain/grants/clients.ts';
import { html } from '../../http/html.ts';
import { pickFields } from '../../login-page/login-context.ts';
import type { AccountFormView, PageOffer, ShownSection } from '../../login-page/page-offer.ts';
import { renderAccountPanel, renderItem, renderToken } from '../../login-page/pages/panel.ts';
import { isolate } from '../../texts/isolate.ts';

const PATH = 'clients/end';

export const CLIENTS_OFFER: PageOffer = {
  accountSection: {
    notes: { client: 'account.note.client' },
    exportData: exportConsents,
    async show({ call }, view, { id }) {
      return renderClients(view, await listUserClients(call, id));
    },
  },
  createActions(account) {
    if (!account) return [];
    const run = account.changing('', async (request, { user, call }) => {
      const { application: applicationId, client: clientId } = pickFields(request, 'application', 'client');
      await endClient(call, { applicationId, clientId, userId: user.id });
      request.parts.onSignedOut(user.id);
      account.redirect(request, '', { done: 'client' });
    });
    return [{ method: 'POST', path: `/account/${PATH}`, form: 'choice', run }];
  },
};

/** Renders nothing without clients, because most people use none. */
function renderClients(view: AccountFormView, clients: readonly UsedClient[]): ShownSection {
  const { language, path } = view;
  if (clients.length === 0) return {};
  const items = clients.map(({ applicationId, applicationName, clientId, clientName, usedAt }) => {
    const name = html`${isolate(clientName ?? clientId)} (<bdi dir="ltr">${new URL(clientId).hostname}</bdi>)`;
    const used = language.html('account.clients.used', { date: language.date(usedAt) });
    return renderItem(
      name,
      html`${isolate(applicationName)} · ${used}`,
      html`<form method="post" action="${path}/${PATH}">${renderToken(view)}<input type="hidden" name="application" value="${applicationId}"><input type="hidden" name="client" value="${clientId}"><button class="second">${language.text('account.clients.end')}<span class="hide"> ${isolate(clientName ?? clientId)}</span></button></form>`,
    );
  });
  const text = language.text('account.clients.text');
  return {
    panel: renderAccountPanel(
      'clients',
      language.text('account.clients'),
      html`<p class="item soft">${text}</p>\n${items}`,
    ),
  };
}
