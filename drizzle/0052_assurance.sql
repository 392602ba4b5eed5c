ALTER TABLE "applications" ADD COLUMN "required_assurance" smallint DEFAULT 1 NOT NULL;--> statement-breakpoint
ALTER TABLE "login_intents" ADD COLUMN "required_assurance" smallint DEFAULT 1 NOT NULL;--> statement-breakpoint
ALTER TABLE "remembered_sign_ins" ADD COLUMN "assurance" smallint DEFAULT 1 NOT NULL;--> statement-breakpoint
ALTER TABLE "sessions" ADD COLUMN "assurance" smallint DEFAULT 1 NOT NULL;--> statement-breakpoint
ALTER TABLE "oidc_grants" ADD COLUMN "assurance" smallint DEFAULT 1 NOT NULL;