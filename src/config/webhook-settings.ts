import { integerBetween, parseBoolean, parseNetworks, parseProxyUrl, splitList } from './parse-setting.ts';
import { setting } from './setting.ts';

export const WEBHOOK_SETTINGS = {
  webhookDelivery: setting('WEBHOOK_DELIVERY', parseBoolean, '`false`: this process sends no webhooks.', {
    default: true,
  }),
  webhookConcurrency: setting(
    'WEBHOOK_CONCURRENCY',
    integerBetween(1, 4_096),
    'Concurrent attempts to quick endpoints, per process.',
    {
      default: 128,
    },
  ),
  webhookAllowedNetworks: setting(
    'WEBHOOK_ALLOWED_NETWORKS',
    parseNetworks,
    'Internal CIDR ranges, comma-separated, that webhooks may be sent to.',
    { defaultText: 'none; loopback, if embedded' },
  ),
  webhookProxyUrl: setting(
    'WEBHOOK_PROXY_URL',
    parseProxyUrl,
    'HTTP proxy through which webhooks are sent. Then the proxy must refuse internal addresses.',
  ),
  webhooksPerApplication: setting(
    'WEBHOOKS_PER_APPLICATION',
    integerBetween(1, 100_000),
    'How many webhooks an application may have.',
    { default: 1_000 },
  ),
  webhookTimeoutMs: setting('WEBHOOK_TIMEOUT_MS', integerBetween(100, 60_000), 'The longest an attempt may take.', {
    default: 15_000,
  }),
  webhookRetrySchedule: setting(
    'WEBHOOK_RETRY_SCHEDULE',
    (text): readonly number[] => splitList(text).map(integerBetween(0, 604_800)),
    'Seconds before each attempt, comma-separated.',
    {
      default: [0, 5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400],
      defaultText: 'ten attempts in three days',
    },
  ),
  webhookLogDays: setting('WEBHOOK_LOG_DAYS', integerBetween(1, 365), 'Days that deliveries are kept.', {
    default: 14,
  }),
};
