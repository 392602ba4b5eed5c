/** The second step of a sign-in, and the pages about authenticator apps. */
import { html } from '../../src/http/html.ts';
import { alertFor } from '../../src/login-page/pages/alerts.ts';
import { renderManageFactor, renderStartSetUp } from '../../src/modules/second-factor/pages/account-factor.ts';
import {
  renderCodesLeft,
  renderCodesPage,
  renderNewCodes,
} from '../../src/modules/second-factor/pages/recovery-codes.ts';
import { renderSecondStep, type StepView } from '../../src/modules/second-factor/pages/second-step.ts';
import { renderQrCode, renderSetUp } from '../../src/modules/second-factor/pages/set-up.ts';
import type { Language } from '../../src/texts/texts.ts';
import { viewAccountForm } from './account-screens.ts';
import { SHOP } from './brands.ts';
import type { Screen } from './screens.ts';

const now = new Date('2026-03-01T12:00:00Z');
const secret = 'JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP';
const qrCode = await renderQrCode(secret, 'login.example.com');
const codes = Array.from({ length: 10 }, (_, at) => `${at}k7m-x2vq-8n${at}d-r5t9`);

const FACTOR = { createdAt: now, lastUsedAt: now, countsFrom: null, recoveryCodesLeft: 7 };
/** An app that does not count yet. */
const YOUNG = { ...FACTOR, lastUsedAt: null, countsFrom: new Date('2026-03-08T12:00:00Z') };

/** Within a login, in the colours of the application. */
const IN_LOGIN: readonly Screen[] = [
  {
    name: 'second-step',
    render: (language) =>
      renderSecondStep({ ...stepView(language), kind: 'app', isPasskey: false, email: 'ada@example.com' }),
  },
  {
    name: 'second-step-wrong',
    render: (language) => {
      const alert = language.text('alert.wrongSecondFactor');
      return renderSecondStep({ ...stepView(language), alert, kind: 'app', isPasskey: true, email: undefined });
    },
  },
  ...(['SECOND_FACTOR_USED', 'TOO_MANY_ATTEMPTS'] as const).map(
    (reason): Screen => ({
      name: `second-step-${reason.toLowerCase().replaceAll('_', '-')}`,
      render: (language) => {
        const alert = alertFor(reason, language, { minutes: 12 });
        return renderSecondStep({
          ...stepView(language),
          alert,
          kind: 'app',
          isPasskey: false,
          email: 'ada@example.com',
        });
      },
    }),
  ),
  {
    name: 'recovery-code',
    render: (language) =>
      renderSecondStep({ ...stepView(language), kind: 'recovery', isPasskey: false, email: 'ada@example.com' }),
  },
  {
    name: 'recovery-code-wrong',
    render: (language) => {
      const alert = language.text('alert.wrongSecondFactor');
      return renderSecondStep({
        ...stepView(language),
        alert,
        kind: 'recovery',
        isPasskey: false,
        email: 'ada@example.com',
      });
    },
  },
  {
    name: 'app-set-up',
    render: (language) => renderSetUp({ ...stepView(language), secret, sealed: '', qrCode, accountPath: '/account' }),
  },
  {
    name: 'app-set-up-wrong',
    render: (language) => {
      const alert = language.text('alert.wrongSecondFactor');
      return renderSetUp({ ...stepView(language), alert, secret, sealed: '', qrCode });
    },
  },
  {
    name: 'recovery-codes',
    render: (language) => renderNewCodes(stepView(language), { codes, countsFrom: YOUNG.countsFrom }),
  },
  { name: 'recovery-codes-left', render: (language) => renderCodesLeft(stepView(language), 3) },
];

export const SECOND_FACTOR_SCREENS: readonly Screen[] = [
  ...IN_LOGIN.map(
    ({ name, render }): Screen => ({ name, render: (language) => ({ ...render(language), application: SHOP }) }),
  ),
  {
    name: 'recovery-codes-new',
    render: (language) => {
      const saved = html`<a class="button" href="/account">${language.text('secondFactor.codes.saved')}</a>`;
      return renderCodesPage(viewAccountForm(language), { codes, countsFrom: null }, saved);
    },
  },
  {
    name: 'app-manage',
    render: (language) => renderManageFactor(viewAccountForm(language), FACTOR, { mayChange: true, now }),
  },
  {
    name: 'app-manage-stale',
    render: (language) => renderManageFactor(viewAccountForm(language), YOUNG, { mayChange: false, now }),
  },
  { name: 'app-start', render: (language) => renderStartSetUp(viewAccountForm(language)) },
];

function stepView(language: Language): StepView {
  return {
    language,
    place: { path: '/login/second-factor', query: [] },
    application: SHOP,
    applicationName: SHOP.name,
    chosenLanguage: '',
    alert: '',
    loginIntentId: '0198f0f0-0000-4000-8000-000000000000',
    clientId: 'client_6f8d2c1a9b3e4f708192a3b4c5d6e7f8',
    path: '/login',
    formToken: 'token',
    once: '',
    next: '',
  };
}
