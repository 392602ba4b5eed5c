CREATE TABLE "unfinished_changes" (
	"id" uuid PRIMARY KEY NOT NULL,
	"kind" text NOT NULL,
	"subject_id" uuid NOT NULL,
	"losing_ids" uuid[] DEFAULT '{}' NOT NULL,
	"seeing_ids" uuid[] DEFAULT '{}' NOT NULL,
	"is_removal" boolean DEFAULT false NOT NULL,
	"step" smallint DEFAULT 0 NOT NULL,
	"after" uuid DEFAULT '00000000-0000-0000-0000-000000000000' NOT NULL,
	"created_at" timestamp (3) with time zone NOT NULL,
	"due_at" timestamp (3) with time zone NOT NULL
);
--> statement-breakpoint
ALTER TABLE "groups" ADD COLUMN "deleted_at" timestamp (3) with time zone;--> statement-breakpoint
CREATE INDEX "unfinished_changes_due_at_idx" ON "unfinished_changes" USING btree ("due_at");
--> statement-breakpoint
-- The body is `isRefused` of src/domain/access/has-access.ts. Stable: it reads the snapshot of the statement that calls it.
CREATE FUNCTION "is_refused"(of_application uuid, of_user uuid) RETURNS boolean LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN (select a.restrict_access from applications a where a.id = of_application) and not exists (
    select x.user_id from added_users x where x.application_id = of_application and x.user_id = of_user
    union all
    select m.user_id from group_members m join application_groups g on g.group_id = m.group_id
    where m.user_id = of_user and g.application_id = of_application and g.allows_access);
END $$;
--> statement-breakpoint
-- Default privileges may have taken this right from everybody.
GRANT EXECUTE ON FUNCTION "is_refused"(uuid, uuid) TO PUBLIC;
