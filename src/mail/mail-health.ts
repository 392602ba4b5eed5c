/** How the mail server has answered last: what Health, the overview and the metrics say about e-mails. */
import type { Logger } from 'pino';
import { pause } from '../pause.ts';
import { type MailError, toMailError } from './mail-error.ts';
import type { MailSender } from './send-mail.ts';

const REMEMBERED = 20;
/** Of fewer e-mails, refused addresses say nothing about the mail server. */
const ENOUGH = 5;
/** How often the mail server is greeted while it does not answer, and while it does. */
const GREETING_MS = { afterFailure: 60_000, afterSuccess: 5 * 60_000 };

interface Answer {
  readonly at: Date;
  readonly error?: MailError | undefined;
}

export class MailHealth {
  readonly #clock: () => Date;
  /** The last attempts to send an e-mail, the latest first. Decoys are left out. */
  #attempts: readonly (Answer & { readonly kind: string })[] = [];
  /** The last greeting. Undefined without a mail server. */
  #greeting: Answer | undefined;
  #lastSentAt: Date | undefined;
  /** When the first failure since the last success was. */
  #failingSince: Date | undefined;

  constructor(clock: () => Date) {
    this.#clock = clock;
  }

  /** Returns a sender that notes how each e-mail has ended. */
  watch(sender: MailSender): MailSender {
    return {
      ...sender,
      send: async (mail, attempt) => {
        try {
          await sender.send(mail, attempt);
          if (!attempt.isDecoy) this.#note(mail.kind);
        } catch (cause) {
          const error = toMailError(cause);
          // Decoys fail as e-mails do if the mail server does not answer.
          if (!attempt.isDecoy || error.isOfServer) this.#note(mail.kind, error);
          throw cause;
        }
      },
    };
  }

  /** Greets the mail server until the signal is aborted. Logs when it begins to fail, and when it answers again. */
  async greet({ greet }: Pick<MailSender, 'greet'>, logger: Logger, signal: AbortSignal): Promise<void> {
    while (greet && !signal.aborted) {
      const error = await greet().then(() => undefined, toMailError);
      if (signal.aborted) return;
      const hadFailed = this.#greeting?.error !== undefined;
      const at = this.#clock();
      this.#greeting = { at, error };
      if (error) this.#failingSince ??= at;
      else if (!this.#attempts[0]?.error) this.#failingSince = undefined;
      if (error && !hadFailed) {
        const { code, responseCode, detail } = error;
        logger.warn({ code, responseCode, detail }, 'mail server does not answer');
      }
      if (!error && hadFailed) logger.info('mail server answers again');
      await pause(error ? GREETING_MS.afterFailure : GREETING_MS.afterSuccess, signal);
    }
  }

  #note(kind: string, error?: MailError): void {
    const at = this.#clock();
    this.#attempts = [{ at, kind, error }, ...this.#attempts].slice(0, REMEMBERED);
    // The refusal of an address is an answer, too.
    if (this.#greeting) this.#greeting = { at, error: error?.isOfServer ? error : undefined };
    if (error) this.#failingSince ??= at;
    else [this.#lastSentAt, this.#failingSince] = [at, undefined];
  }

  /** What operators see. */
  read() {
    const failed = this.#attempts.filter(({ error }) => error);
    const isAnswered = !this.#greeting?.error && !this.#attempts[0]?.error?.isOfServer;
    const areMostTaken = this.#attempts.length < ENOUGH || failed.length * 2 < this.#attempts.length;
    return {
      isWell: isAnswered && areMostTaken,
      attempts: this.#attempts.length,
      failed: failed.length,
      kinds: [...Map.groupBy(failed, ({ kind }) => kind)].map(([kind, { length }]) => ({ kind, count: length })),
      error: this.#greeting?.error ?? failed[0]?.error,
      failingSince: this.#failingSince,
      lastSentAt: this.#lastSentAt,
      greeting: this.#greeting,
    };
  }
}

/** Returns what the operator needs to know: why there was no connection, or the code of the error and that of the answer. */
export function describeMailError({ code, responseCode, detail }: MailError): string {
  return detail ?? ([code, responseCode].filter((part) => part !== undefined).join(' ') || 'unknown error');
}
