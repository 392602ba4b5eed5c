ALTER TABLE "invitations" ADD COLUMN "on_behalf_at" timestamp (3) with time zone;
--> statement-breakpoint
-- The body is `maySignIn` of src/domain/access/has-access.ts. Stable: it reads the snapshot of the statement that calls it.
CREATE FUNCTION "may_sign_in"(of_application uuid, of_user uuid, at_instant timestamptz) RETURNS boolean LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN exists (
    select x.user_id from added_users x where x.application_id = of_application and x.user_id = of_user and not exists (
      select 1 from invitations v where v.application_id = x.application_id and v.user_id = x.user_id
      and v.added_user and v.accepted_at is null and v.expires_at <= at_instant)
    union all
    select m.user_id from group_members m join application_groups g on g.group_id = m.group_id
    where m.user_id = of_user and g.application_id = of_application and g.allows_access);
END $$;
--> statement-breakpoint
-- Default privileges may have taken this right from everybody.
GRANT EXECUTE ON FUNCTION "may_sign_in"(uuid, uuid, timestamptz) TO PUBLIC;
