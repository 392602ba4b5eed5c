/** What e-mails with codes hold. Hostile names and servers that fail: test/robustness/login-emails.test.ts. */
import { expect, test } from 'vitest';
import { createCodeSender } from '../../src/login-page/code-sender.ts';
import { MailServer } from '../support/mail-server.ts';

const CODE = { email: 'ada@example.com', code: '048151', applicationName: 'Shop' };

test('an e-mail goes to the address, with its code in the subject and the text', async () => {
  await using mail = await MailServer.start();
  const sendCode = createCodeSender({ url: mail.url, from: 'Usher <login@usher.test>' });
  await sendCode({ ...CODE, isDecoy: false, locale: null });
  expect(mail.emails).toMatchObject([{ from: 'login@usher.test', to: ['ada@example.com'] }]);
  const raw = mail.emails[0]?.raw ?? '';
  expect(raw).toMatch(/^Subject: 048151 is your code for Shop\r$/m);
  expect(raw).toContain('Your code for Shop is 048151. It is good for 10 minutes.');
});

test('no e-mail goes to an address that nobody may sign in with', async () => {
  await using mail = await MailServer.start();
  const sendCode = createCodeSender({ url: mail.url, from: 'login@usher.test' });
  await sendCode({ ...CODE, isDecoy: true, locale: null });
  expect(mail.emails).toEqual([]);
});
