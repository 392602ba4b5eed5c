/** A browser as the domain sees it, which has completed no login. */
import { randomBytes } from 'node:crypto';
import type { Browser } from '../../src/domain/sessions/browser.ts';

export function newBrowser(given: Partial<Browser> = {}): Browser {
  const [digest, answerDigest] = [randomBytes(32), randomBytes(32)];
  return { digest, answerDigest, knownAnswers: [], address: '::1', userAgent: 'Test', ...given };
}
