import { afterEach, expect, test, vi } from 'vitest';
import { type SmtpConnection, SmtpPool } from '../../../src/mail/smtp-pool.ts';

afterEach(() => vi.useRealTimers());

test('an idle connection is kept for a minute after each e-mail', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  let opened = 0;
  let closed = 0;
  const connect = async (): Promise<SmtpConnection> => {
    opened++;
    return {
      isOpen: true,
      send: async () => {},
      greet: async () => {},
      pretendToSend: async () => {},
      close: () => void closed++,
    };
  };
  const pool = new SmtpPool(connect);
  const send = () => pool.use(Number.POSITIVE_INFINITY, async () => {});
  await send();
  vi.advanceTimersByTime(59_999);
  await send();
  vi.advanceTimersByTime(59_999);
  expect({ opened, closed }).toEqual({ opened: 1, closed: 0 });
  vi.advanceTimersByTime(1);
  expect({ opened, closed }).toEqual({ opened: 1, closed: 1 });
  await send();
  expect(opened).toBe(2);
});
