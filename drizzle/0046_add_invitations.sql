CREATE TABLE "invitations" (
	"application_id" uuid NOT NULL,
	"id" uuid NOT NULL,
	"email" text NOT NULL,
	"user_id" uuid NOT NULL,
	"created_user" boolean NOT NULL,
	"added_user" boolean NOT NULL,
	"group_ids" uuid[] DEFAULT '{}' NOT NULL,
	"created_at" timestamp (3) with time zone NOT NULL,
	"expires_at" timestamp (3) with time zone NOT NULL,
	"accepted_at" timestamp (3) with time zone,
	CONSTRAINT "invitations_application_id_id_pk" PRIMARY KEY("application_id","id")
);
--> statement-breakpoint
ALTER TABLE "applications" ADD COLUMN "allow_invitations" boolean DEFAULT false NOT NULL;--> statement-breakpoint
ALTER TABLE "invitations" ADD CONSTRAINT "invitations_application_id_applications_id_fk" FOREIGN KEY ("application_id") REFERENCES "public"."applications"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
CREATE UNIQUE INDEX "invitations_open_key" ON "invitations" USING btree ("application_id","user_id") WHERE "invitations"."accepted_at" is null;--> statement-breakpoint
CREATE INDEX "invitations_list_idx" ON "invitations" USING btree ("application_id","created_at","id");--> statement-breakpoint
CREATE INDEX "invitations_user_id_idx" ON "invitations" USING btree ("user_id");--> statement-breakpoint
CREATE INDEX "invitations_expires_at_idx" ON "invitations" USING btree ("expires_at") WHERE "invitations"."accepted_at" is null;--> statement-breakpoint
-- The planner's statistics are samples of values: an erasure would leave addresses in them.
ALTER TABLE "invitations" ALTER "email" SET STATISTICS 0;
