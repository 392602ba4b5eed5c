CREATE TABLE "application_groups" (
	"application_id" uuid NOT NULL,
	"group_id" uuid NOT NULL,
	"allows_access" boolean NOT NULL,
	"in_claim" boolean NOT NULL,
	CONSTRAINT "application_groups_application_id_group_id_pk" PRIMARY KEY("application_id","group_id")
);
--> statement-breakpoint
CREATE TABLE "group_members" (
	"group_id" uuid NOT NULL,
	"user_id" uuid NOT NULL,
	"added_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "group_members_group_id_user_id_pk" PRIMARY KEY("group_id","user_id")
);
--> statement-breakpoint
CREATE TABLE "groups" (
	"id" uuid PRIMARY KEY NOT NULL,
	"name" text NOT NULL,
	"display_name" text,
	"created_at" timestamp (3) with time zone NOT NULL
);
--> statement-breakpoint
ALTER TABLE "applications" ADD COLUMN "restrict_access" boolean DEFAULT false NOT NULL;--> statement-breakpoint
ALTER TABLE "application_groups" ADD CONSTRAINT "application_groups_application_id_applications_id_fk" FOREIGN KEY ("application_id") REFERENCES "public"."applications"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "application_groups" ADD CONSTRAINT "application_groups_group_id_groups_id_fk" FOREIGN KEY ("group_id") REFERENCES "public"."groups"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "group_members" ADD CONSTRAINT "group_members_group_id_groups_id_fk" FOREIGN KEY ("group_id") REFERENCES "public"."groups"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "application_groups_group_id_idx" ON "application_groups" USING btree ("group_id");--> statement-breakpoint
CREATE INDEX "group_members_list_idx" ON "group_members" USING btree ("group_id","added_at","user_id");--> statement-breakpoint
CREATE INDEX "group_members_user_list_idx" ON "group_members" USING btree ("user_id","added_at","group_id");--> statement-breakpoint
CREATE UNIQUE INDEX "groups_name_key" ON "groups" USING btree ("name");--> statement-breakpoint
CREATE INDEX "groups_list_idx" ON "groups" USING btree ("created_at","id");