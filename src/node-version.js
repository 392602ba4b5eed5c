/**
 * The oldest version that runs Usher. This file is JavaScript, because versions that are too old cannot load
 * TypeScript.
 */
const MINIMUM = [24, 16];

/** Returns whether this Node can run Usher. If not, writes an error to stderr and sets the exit code. */
export function checkNodeVersion() {
  const [major, minor] = process.versions.node.split('.').map(Number);
  if (major > MINIMUM[0] || (major === MINIMUM[0] && minor >= MINIMUM[1])) return true;
  process.stderr.write(`usher: needs Node ${MINIMUM.join('.')} or later; this is ${process.versions.node}\n`);
  process.exitCode = 1;
  return false;
}
