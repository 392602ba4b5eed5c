/** The test file that /docs/testing shows. */
import '../../examples/next/sessions.spec.ts';
