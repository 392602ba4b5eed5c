/** JavaScript, because older versions of Node could not even load TypeScript to check it. */
const MINIMUM = [24, 16];

/** Returns whether this Node can run Usher. If not, says so and sets the exit code. */
export function checkNodeVersion() {
  const [major, minor] = process.versions.node.split('.').map(Number);
  if (major > MINIMUM[0] || (major === MINIMUM[0] && minor >= MINIMUM[1])) return true;
  process.stderr.write(`usher: needs Node ${MINIMUM.join('.')} or later; this is ${process.versions.node}\n`);
  process.exitCode = 1;
  return false;
}
