import { integerBetween } from './parse-setting.ts';
import { setting } from './setting.ts';

const MAX_TIMEOUT_MS = 600_000;
/** With less, a start fails at its first statements. */
const MIN_REQUEST_TIMEOUT_MS = 100;
/** Clients get this long for their first request, so idle connections are kept no shorter. */
const MIN_KEEP_ALIVE_MS = 7_000;
const MAX_KEEP_ALIVE_MS = 86_400_000;

export const TIMEOUT_SETTINGS = {
  requestTimeoutMs: setting(
    'REQUEST_TIMEOUT_MS',
    integerBetween(MIN_REQUEST_TIMEOUT_MS, MAX_TIMEOUT_MS),
    'The longest a call may take.',
    {
      default: 5_000,
    },
  ),
  keepAliveTimeoutMs: setting(
    'KEEP_ALIVE_TIMEOUT_MS',
    integerBetween(MIN_KEEP_ALIVE_MS, MAX_KEEP_ALIVE_MS),
    'How long a connection may be idle. It must exceed the idle timeout of a [load balancer](src/http/README.md#behind-a-load-balancer).',
    { default: 75_000 },
  ),
  shutdownDelayMs: setting(
    'SHUTDOWN_DELAY_MS',
    integerBetween(0, MAX_TIMEOUT_MS),
    'How long a shutdown still accepts calls after readiness fails.',
    { default: 0 },
  ),
  shutdownTimeoutMs: setting(
    'SHUTDOWN_TIMEOUT_MS',
    integerBetween(1, MAX_TIMEOUT_MS),
    'How long a shutdown waits for calls in flight.',
    { default: 10_000 },
  ),
};
