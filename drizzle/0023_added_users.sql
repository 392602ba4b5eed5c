CREATE TABLE "added_users" (
	"application_id" uuid NOT NULL,
	"user_id" uuid NOT NULL,
	"added_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "added_users_application_id_user_id_pk" PRIMARY KEY("application_id","user_id")
);
--> statement-breakpoint
CREATE INDEX "added_users_user_id_idx" ON "added_users" USING btree ("user_id","application_id");