/** The first test that /docs/testing shows. */
import '../../examples/testing/login.spec.ts';
