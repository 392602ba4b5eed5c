/** Codes of authenticator apps (RFC 6238), as every app computes them: SHA-1, 6 digits, 30 seconds. */
import { createHmac, timingSafeEqual } from 'node:crypto';

const STEP_MS = 30_000;
export const TOTP_DIGITS = 6;

export function computeTotp(secret: Buffer, step: number): string {
  const counter = Buffer.alloc(8);
  counter.writeBigUInt64BE(BigInt(step));
  const mac = createHmac('sha1', secret).update(counter).digest();
  const number = mac.readUInt32BE(mac.readUInt8(19) & 15) & 0x7f_ff_ff_ff;
  return String(number % 10 ** TOTP_DIGITS).padStart(TOTP_DIGITS, '0');
}

/**
 * Returns the time step of the code, which may be one step early or late, or undefined for a wrong code. Compares in
 * constant time.
 */
export function findTotpStep(secret: Buffer, code: string, now: Date): number | undefined {
  if (code.length !== TOTP_DIGITS) return undefined;
  const present = Math.floor(now.getTime() / STEP_MS);
  const given = Buffer.from(code);
  const steps = [present - 1, present, present + 1];
  return steps.filter((step) => timingSafeEqual(Buffer.from(computeTotp(secret, step)), given)).at(-1);
}
