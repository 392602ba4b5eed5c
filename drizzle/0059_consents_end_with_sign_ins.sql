ALTER TABLE "consents" ADD COLUMN "authenticated_at" timestamp (3) with time zone;--> statement-breakpoint
ALTER TABLE "oidc_grants" ADD COLUMN "browser_digest" "bytea";