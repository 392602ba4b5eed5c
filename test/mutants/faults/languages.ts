import type { Fault } from '../fault.ts';

const choice = 'test/login-page/language-choice.test.ts';
const texts = 'test/texts/texts.test.ts';

/** The languages of pages. */
export const LANGUAGE_FAULTS: readonly Fault[] = [
  {
    what: 'The language that the application wants is ignored',
    file: 'src/login-page/language-choice.ts',
    find: "matchTags(locale ?? '') ??",
    replace: '',
    test: choice,
    title: /the one that the application wants, on every page/,
  },
  {
    what: 'The language that the person chooses is forgotten on the next page',
    file: 'src/login-page/redirect-to-form.ts',
    find: '...(languages.chosen && { lang: languages.chosen }),',
    replace: '',
    test: choice,
    title: /the one that the person chooses, on every page/,
  },
  {
    what: 'The language that the person chooses is forgotten at the next login',
    file: 'src/login-page/language-choice.ts',
    find: 'if (chosen && readCookie(context, COOKIE) !== chosen)',
    replace: 'if (chosen.length > 9)',
    test: choice,
    title: /at the next login the one that the person has chosen/,
  },
  {
    what: 'Readers of one script get another',
    file: 'src/texts/match-language.ts',
    find: 'return `${language}-${script}`;',
    replace: 'return `${language}-${script?.slice(4)}`;',
    test: 'test/texts/match-language.test.ts',
    title: /zh-TW/,
  },
  {
    what: 'A value changes the direction of the text around it',
    file: 'src/texts/isolate.ts',
    find: '<bdi>${withoutDirectionControls(text)}</bdi>',
    replace: '${withoutDirectionControls(text)}',
    test: texts,
    title: /HTML isolates and escapes its values/,
  },
];
