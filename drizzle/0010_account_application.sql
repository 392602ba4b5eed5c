-- The application of the account page: see src/domain/account/account-application.ts.
INSERT INTO "applications" ("id", "name", "client_id", "redirect_uris", "single_sign_on", "created_at")
VALUES ('00000000-0000-4000-8000-000000000001', 'Your account', 'usher-account', '{}', true, now())
ON CONFLICT DO NOTHING;
