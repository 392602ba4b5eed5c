CREATE TABLE "remembered_sign_ins" (
	"token_digest" "bytea" PRIMARY KEY NOT NULL,
	"user_id" uuid NOT NULL,
	"method" text NOT NULL,
	"authenticated_at" timestamp (3) with time zone NOT NULL,
	"expires_at" timestamp (3) with time zone NOT NULL
);
--> statement-breakpoint
CREATE INDEX "remembered_sign_ins_user_id_idx" ON "remembered_sign_ins" USING btree ("user_id");--> statement-breakpoint
CREATE INDEX "remembered_sign_ins_expires_at_idx" ON "remembered_sign_ins" USING btree ("expires_at");