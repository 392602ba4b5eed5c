/** Returns whether the value of `Accept-Encoding` names the coding, and does not refuse it with `q=0`. */
export function acceptsCoding(acceptEncoding: string | undefined, coding: string): boolean {
  const pattern = `(?:^|,)\\s*${coding}\\s*(?:;(?!\\s*q=0(?:\\.0*)?\\s*(?:,|$))|,|$)`;
  return new RegExp(pattern, 'i').test(acceptEncoding ?? '');
}
