-- The body is `hasAccess` of src/domain/access/has-access.ts. Stable: it reads the snapshot of the statement that calls it.
CREATE FUNCTION "has_access"(of_application uuid, of_user uuid) RETURNS boolean LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN exists (
    select x.user_id from added_users x where x.application_id = of_application and x.user_id = of_user
    union all
    select m.user_id from group_members m join application_groups g on g.group_id = m.group_id
    where m.user_id = of_user and g.application_id = of_application and g.allows_access);
END $$;
--> statement-breakpoint
-- Default privileges may have taken this right from everybody.
GRANT EXECUTE ON FUNCTION "has_access"(uuid, uuid) TO PUBLIC;
