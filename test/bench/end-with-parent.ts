/** Loaded into every server: its standard input closes when the bench ends, by whatever death, and then it ends too. */
process.stdin.resume().once('close', () => process.exit(0));
