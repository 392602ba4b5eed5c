import { MUTE_HOURS } from '../domain/login/muted-addresses.ts';
import type { Language } from '../texts/texts.ts';
import type { Mail } from './mail.ts';

/** Returns the link of an e-mail that a stranger may have caused. @param url the page that mutes the address */
export function createMuteLink(language: Language, url: string): NonNullable<Mail['link']> {
  return { text: ['mail.code.mute', { duration: language.duration(MUTE_HOURS, 'hour') }], url };
}
