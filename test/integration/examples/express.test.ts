/** The test file that /docs/testing shows. */
import '../../examples/express/app.spec.ts';
