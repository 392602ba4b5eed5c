import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { OutageLog } from '../../src/api/log-limits.ts';
import { RecordedLog } from '../support/recorded-log.ts';

const WARN = 40;
const FAILED = { requestId: 'first', method: 'usher.v1.WebhookService/GetWebhook', reason: 'SERVICE_UNAVAILABLE' };

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test('an outage of half a minute has a warning at once, and one every ten seconds with the number of calls', () => {
  const log = new RecordedLog();
  const outages = new OutageLog(log.logger);
  for (let second = 0; second < 30; second++) {
    for (let call = 0; call < 100; call++) outages.report(FAILED);
    vi.advanceTimersByTime(1_000);
  }
  vi.advanceTimersByTime(60_000);
  expect(log.parsed).toMatchObject([
    { level: WARN, msg: 'call not served', ...FAILED },
    { level: WARN, msg: 'calls not served', calls: 999, seconds: 10 },
    { level: WARN, msg: 'calls not served', calls: 1_000, seconds: 10 },
    { level: WARN, msg: 'calls not served', calls: 1_000, seconds: 10 },
  ]);
});

test('the next outage has a warning at once, too', () => {
  const log = new RecordedLog();
  const outages = new OutageLog(log.logger);
  outages.report(FAILED);
  vi.advanceTimersByTime(10_000);
  outages.report({ ...FAILED, requestId: 'second' });
  expect(log.parsed.map(({ msg, requestId }) => [msg, requestId])).toEqual([
    ['call not served', 'first'],
    ['call not served', 'second'],
  ]);
});
