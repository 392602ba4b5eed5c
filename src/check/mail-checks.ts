/** The mail server, and what DNS says about the domain of the sender. */
import { domainToASCII } from 'node:url';
import { toMailError } from '../mail/mail-error.ts';
import { describeMailError } from '../mail/mail-health.ts';
import { createMailSender, senderAddressOf } from '../mail/send-mail.ts';
import { type Check, type CheckFinding, fail, pass, warn } from '../modules/check.ts';
import type { FullContext } from './check-context.ts';

type DnsCheck = (domain: string, context: FullContext) => Promise<CheckFinding>;

function ofSender(check: string, find: DnsCheck): Check<FullContext> {
  return {
    check,
    settings: ['MAIL_FROM'],
    async run(context) {
      const domain = domainToASCII(senderAddressOf(context.config.smtp?.from ?? '').split('@')[1] ?? '');
      // No name of the internet.
      if (!domain.includes('.')) return [];
      return [await find(domain, context)];
    },
  };
}

export const MAIL_CHECKS: readonly Check<FullContext>[] = [
  {
    check: 'mail server',
    settings: ['SMTP_URL'],
    async run({ config: { publicUrl, smtp } }) {
      if (!smtp) return [];
      const sender = createMailSender(smtp, publicUrl);
      try {
        await sender.greet?.();
        return [pass(`${new URL(smtp.url).host} greets, and takes the user and password`)];
      } catch (error) {
        const why = 'People who sign in by code wait in vain';
        return [fail(`${new URL(smtp.url).host} cannot be used: ${describeMailError(toMailError(error))}`, why)];
      } finally {
        sender.close?.();
      }
    },
  },
  ofSender('SPF', async (domain, { resolveTxt }) => {
    const records = (await readTexts(resolveTxt, domain)).filter((text) => /^v=spf1(?: |$)/i.test(text));
    if (records.length === 0) return warn(`${domain} has no SPF record`, DISTRUST);
    if (records.length > 1)
      return warn(`${domain} has ${records.length} SPF records`, `Only one may be there. ${DISTRUST}`);
    if (/ \+?all$/i.test(records[0] ?? ''))
      return warn(`the SPF record of ${domain} lets every machine send`, DISTRUST);
    return pass(`${domain} has an SPF record`);
  }),
  ofSender('DKIM', async (domain, { resolveTxt }) => {
    // If there is a key of any selector, the name above it exists (RFC 8020).
    const exists = await resolveTxt(`_domainkey.${domain}`).then(
      () => true,
      ({ code }) =>
        code === 'ENOTFOUND' ? false : code === 'ENODATA' ? true : Promise.reject(dnsFailure(domain, code)),
    );
    if (exists) return pass(`${domain} has keys of DKIM`);
    return warn(`${domain} has no key of DKIM`, `Let the mail server sign, and publish its key. ${DISTRUST}`);
  }),
  ofSender('DMARC', async (domain, { resolveTxt }) => {
    // The policy of a domain holds for those below it (RFC 7489, section 6.6.3).
    for (let name = domain; name.includes('.'); name = name.slice(name.indexOf('.') + 1)) {
      const policies = (await readTexts(resolveTxt, `_dmarc.${name}`)).filter((text) => /^v=DMARC1\b/i.test(text));
      if (policies.length > 0) return pass(`${name} has a policy of DMARC`);
    }
    return warn(`${domain} has no policy of DMARC`, DISTRUST);
  }),
];

const DISTRUST = 'Mail servers may refuse the codes, or take them for spam';

/** Returns no text for a name that does not exist. @throws Error if DNS does not answer */
async function readTexts(resolveTxt: FullContext['resolveTxt'], name: string): Promise<string[]> {
  const records = await resolveTxt(name).catch(({ code }) => {
    if (code === 'ENOTFOUND' || code === 'ENODATA') return [];
    throw dnsFailure(name, code);
  });
  return records.map((parts) => parts.join(''));
}

function dnsFailure(name: string, code: unknown): Error {
  return new Error(`DNS does not answer for ${name} (${code})`);
}
