/** The mail server on the page Health, and the e-mail by which an operator tries it. */
import { showEmail } from '../../../config/email-address.ts';
import { type Html, html } from '../../../http/html.ts';
import { toMailError } from '../../../mail/mail-error.ts';
import { describeMailError } from '../../../mail/mail-health.ts';
import { isolate } from '../../../texts/isolate.ts';
import type { ConsoleRequest } from '../console-request.ts';
import { renderForm } from '../parts/form.ts';
import { type Part, problemsOf } from '../parts/health-part.ts';
import { renderMoment } from '../parts/moment.ts';
import { includesRole } from '../signed-in-operator.ts';

/** What became of the test. */
export interface MailTest {
  readonly hasArrived: boolean;
  readonly answer: string;
}

/** Returns what is wrong with e-mails, for other pages. */
export function renderMailAlert(request: ConsoleRequest): Html | false {
  const [problem] = problemsOf([readMail(request)]);
  return problem !== undefined && html`<div class="alert"><p>${problem} <a href="/health">Health</a></p></div>`;
}

export function readMail({ operator, parts }: ConsoleRequest, test?: MailTest): Part {
  const { smtp } = parts.config;
  const { attempts, failed, kinds, error, failingSince, greeting, isWell, lastSentAt } = parts.mailServer.read();
  const reason = error && html`<code>${isolate(describeMailError(error))}</code>`;
  const since = failingSince && html`, since ${renderMoment(failingSince)}`;
  const figures = `${String(failed)} of the last ${String(attempts)} failed`;
  return {
    id: 'mail',
    title: 'E-mail',
    problems: [
      !isWell &&
        html`<strong>E-mails do not go out.</strong> ${failed === 0 ? 'The mail server does not answer' : figures}${since}: ${reason}. People who sign in by code wait in vain.`,
    ],
    facts: [
      [
        'Mail server',
        smtp ? html`<code>${new URL(smtp.url).host}</code>` : 'none: codes appear in the terminal, or are not sent',
      ],
      ['Greeting', greeting && renderGreeting(greeting)],
      ['Last sent', lastSentAt && renderMoment(lastSentAt)],
      [
        'Failed',
        attempts > 0 &&
          `${figures}${failed > 0 ? `: ${kinds.map(({ kind, count }) => `${String(count)} × ${kind}`).join(', ')}` : ''}.`,
      ],
      ['Error', reason],
    ],
    below:
      includesRole(operator.role, 'support') &&
      html`${test && html`<p class="alert ${test.hasArrived ? 'note' : ''}" role="status" tabindex="-1">${test.answer}</p>`}
${renderForm(
  '/health/test-mail',
  html`<div><strong>Try it</strong><p>To ${isolate(showEmail(operator.email))}. The answer of the mail server appears here.</p></div><button class="second">Send me a test e-mail</button>`,
  'item tight',
)}`,
  };
}

function renderGreeting({ at, error }: { readonly at: Date; readonly error?: unknown }): Html {
  return error
    ? html`<span class="tag bad">no answer</span> ${renderMoment(at)}, asked again every minute`
    : html`answered ${renderMoment(at)}`;
}

/** Sends the e-mail to the operator, and returns the answer of the mail server. It quotes no other address. */
export async function sendTestMail({ operator, parts }: ConsoleRequest): Promise<MailTest> {
  try {
    await parts.mailServer.sendTest(operator.email);
    const taken = parts.config.smtp ? 'The mail server has taken it' : 'It is in the terminal';
    return { hasArrived: true, answer: `Sent. ${taken}.` };
  } catch (cause) {
    const { response } = Object(cause);
    const answer = typeof response === 'string' ? response : describeMailError(toMailError(cause));
    return { hasArrived: false, answer: `Not sent: ${answer}` };
  }
}
