/** Each message is signed with a key of its webhook. */
import { Webhook } from 'standardwebhooks';
import { answerOf, groupBySubject, type Operation, type Violation } from '../operation.ts';

export interface SignedMessage {
  readonly webhookId: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export function findSignatureViolations(
  operations: readonly Operation[],
  messages: readonly SignedMessage[],
): Violation[] {
  const byWebhook = groupBySubject(operations, 'webhook');
  return messages.flatMap((message) => {
    const ofWebhook = byWebhook.get(`webhook ${message.webhookId}`) ?? [];
    // A key that nobody was told may have signed.
    if (ofWebhook.some(({ rpc, outcome }) => rpc.endsWith('/RotateSigningKey') && outcome === 'unknown')) return [];
    const keys = new Set(ofWebhook.flatMap((operation) => answerOf(operation)?.webhook?.signingKey ?? []));
    if ([...keys].some((key) => hasSigned(key, message))) return [];
    return [{ rule: 'a message is signed with no key of its webhook', details: JSON.stringify(message) }];
  });
}

function hasSigned(key: string, { headers, body }: SignedMessage): boolean {
  try {
    new Webhook(key).verify(body, headers);
    return true;
  } catch {
    return false;
  }
}
