ALTER TABLE "session_cutoffs" ADD COLUMN "changed_at" timestamp (3) with time zone DEFAULT statement_timestamp() NOT NULL;--> statement-breakpoint
ALTER TABLE "user_cutoffs" ADD COLUMN "changed_at" timestamp (3) with time zone DEFAULT statement_timestamp() NOT NULL;--> statement-breakpoint
ALTER TABLE "oidc_grants" ADD COLUMN "ended_at" timestamp (3) with time zone;