CREATE TABLE "browser_cutoffs" (
	"user_id" uuid NOT NULL,
	"browser_digest" "bytea" NOT NULL,
	"cutoff_at" timestamp (3) with time zone NOT NULL,
	"expires_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "browser_cutoffs_user_id_browser_digest_pk" PRIMARY KEY("user_id","browser_digest")
);
--> statement-breakpoint
CREATE INDEX "browser_cutoffs_expires_at_idx" ON "browser_cutoffs" USING btree ("expires_at");