/** The pages at which people let a device in. */
import {
  type DeviceView,
  renderDeviceApproval,
  renderDeviceRequest,
  renderDeviceResult,
  renderUserCode,
} from '../../src/modules/oidc/pages/render-device.ts';
import type { Language } from '../../src/texts/texts.ts';
import { BAKERY, SHOP } from './brands.ts';
import type { Screen } from './screens.ts';

const now = new Date('2026-03-01T12:00:40Z');
const createdAt = new Date('2026-03-01T12:00:00Z');

export const DEVICE_SCREENS: readonly Screen[] = [
  { name: 'device-code', render: (language) => renderUserCode({ ...codeView(language), alert: '' }) },
  {
    name: 'device-code-wrong',
    render: (language) => renderUserCode({ ...codeView(language), alert: language.text('device.wrong') }),
  },
  { name: 'device-request', render: (language) => renderDeviceRequest(deviceView(language), 'https://app.test') },
  {
    name: 'device-approval',
    render: (language) =>
      renderDeviceApproval(
        {
          ...deviceView(language),
          application: BAKERY,
          address: '198.51.100.1',
          login: { clientName: BAKERY.name, createdAt, startedFrom: '2001:db8:1:2::/64' },
        },
        'ada.lovelace@mathematics.example.com',
      ),
  },
  { name: 'device-allowed', render: (language) => renderDeviceResult(deviceView(language), true) },
  { name: 'device-denied', render: (language) => renderDeviceResult(deviceView(language), false) },
];

function codeView(language: Language) {
  return { language, place: { path: '/device', query: [] }, formToken: 'token', code: 'BCDF-GHJK' } as const;
}

function deviceView(language: Language): DeviceView {
  return {
    language,
    place: { path: '/device/request', query: [['request', 'x'.repeat(64)]] },
    application: SHOP,
    formToken: 'token',
    login: { clientName: SHOP.name, createdAt, startedFrom: '203.0.113.7' },
    address: '203.0.113.7',
    now,
  };
}
