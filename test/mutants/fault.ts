import { globSync, readFileSync } from 'node:fs';

/** A fault of the kind that a bad merge makes and a review misses, and the test that must notice it. */
export interface Fault {
  readonly what: string;
  /** A text that `src` has once, or whose first place after `after` has it. White space counts as one blank. */
  readonly find: string;
  /** A text that `src` has once, for what is there more often. */
  readonly after?: string;
  readonly replace: string;
  /** The test file that runs. */
  readonly test: string;
  /** The full title of a test that must fail, without its numbers, matches this. It has no flags: Vitest takes none. */
  readonly title: RegExp;
}

/** A file of `src`, and its text with the fault. */
interface PlantedFile {
  readonly file: string;
  readonly text: string;
}

const sources = globSync('src/**/*.{ts,js}').map((file) => ({ file, text: readFileSync(file, 'utf8') }));

/** Returns the file with the fault. No fault names its file, so that code may move. Returns undefined for a text that is not there once. */
export function plantFault({ find, after, replace }: Fault): PlantedFile | undefined {
  const pattern = toPattern(find);
  const [place, ...others] = findPlaces(after === undefined ? pattern : toPattern(after));
  if (!place || others.length > 0) return undefined;
  const { file, text, from } = place;
  const [found] = text.slice(from).matchAll(pattern);
  if (!found) return undefined;
  const at = from + found.index;
  return { file, text: text.slice(0, at) + replace + text.slice(at + found[0].length) };
}

function findPlaces(pattern: RegExp) {
  return sources.flatMap(({ file, text }) =>
    [...text.matchAll(pattern)].map(({ index }) => ({ file, text, from: index })),
  );
}

/** Returns a pattern for the text with any white space. */
function toPattern(text: string): RegExp {
  return new RegExp(text.replaceAll(/[$()*+.?[\\\]^{|}]/g, '\\$&').replaceAll(/\s+/g, '\\s+'), 'g');
}
