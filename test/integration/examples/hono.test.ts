/** The test file that /docs/testing shows. */
import '../../examples/hono/app.spec.ts';
