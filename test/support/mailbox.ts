import type { LoginCode } from '../../src/domain/login/create-login-code.ts';
import type { DeliverCode } from '../../src/login-page/mailer.ts';

/** Where the codes of a service arrive: `startTestService({ deliver: mailbox.deliver })`. */
export class Mailbox {
  /** The oldest first. */
  readonly letters: LoginCode[] = [];

  readonly deliver: DeliverCode = async (letter) => {
    this.letters.push(letter);
  };

  /** The last code that came for the address. */
  codeFor(email: string): string {
    const letter = this.letters.findLast((candidate) => candidate.email === email);
    if (!letter) throw new Error(`No code for ${email}`);
    return letter.code;
  }
}

/** Six digits that are not the code. */
export function wrongCode(code: string, difference = 1): string {
  return String((Number(code) + difference) % 1_000_000).padStart(6, '0');
}
