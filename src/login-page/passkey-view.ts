import { allowsMethod, type Branding } from '../domain/applications/branding.ts';
import { createChallenge } from '../domain/passkeys/challenge.ts';
import type { LoginRequest } from './login-request.ts';
import type { PasskeyView } from './pages/view.ts';

const PROBLEMS: ReadonlyMap<string, PasskeyView['problem']> = new Map([
  ['INVALID_PASSKEY', 'invalid'],
  ['UNKNOWN_PASSKEY', 'unknown'],
] as const);

/** Returns the request for a passkey, or undefined if people cannot sign in to the application with one. */
export function viewPasskey(
  { call, browser, fields, parts }: Pick<LoginRequest, 'call' | 'browser' | 'fields' | 'parts'>,
  branding: Branding,
): PasskeyView | undefined {
  if (!parts.methods.includes('passkey') || !allowsMethod(branding, 'passkey')) return undefined;
  const { keys, rpId } = parts.relyingParty;
  const { loginIntentId, problem } = fields;
  const challenge = createChallenge(keys, { purpose: 'passkey get', loginIntentId, browser }, call.now);
  return { challenge, rpId, problem: PROBLEMS.get(problem) };
}
