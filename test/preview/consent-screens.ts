/** The page that asks for consent to a client that nobody has registered. */
import { type ConsentView, renderConsent } from '../../src/modules/oidc/pages/consent.ts';
import type { Language } from '../../src/texts/texts.ts';
import { BAKERY, SHOP } from './brands.ts';
import type { Screen } from './screens.ts';

export const CONSENT_SCREENS: readonly Screen[] = [
  { name: 'consent', render: (language) => renderConsent(consentView(language)) },
  {
    name: 'consent-here',
    render: (language) =>
      renderConsent({
        ...consentView(language),
        application: BAKERY,
        clientName:
          'An assistant with a name that is as long as the metadata of a client allows it to be: 100 characters',
        clientHost: 'assistants.engineering.a-rather-long-company-name.example',
        returnHost: undefined,
        email: 'ada.lovelace@mathematics.example.com',
        scope: 1,
      }),
  },
];

function consentView(language: Language): ConsentView {
  return {
    language,
    place: { path: '/oidc/consent', query: [['login', 'x'.repeat(64)]] },
    application: SHOP,
    formToken: 'token',
    clientName: 'Claude Code',
    clientHost: 'claude.ai',
    returnHost: 'claude.ai',
    email: 'ada@example.com',
    scope: 7,
    wanted: ['See your orders', 'Order things'],
  };
}
