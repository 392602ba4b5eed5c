-- The application of the console: see src/domain/operators/console-application.ts.
INSERT INTO "applications" ("id", "name", "client_id", "redirect_uris", "allow_sign_up", "created_at")
VALUES ('00000000-0000-4000-8000-000000000002', 'Usher console', 'usher-console', '{}', false, now())
ON CONFLICT DO NOTHING;
