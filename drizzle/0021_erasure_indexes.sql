CREATE INDEX CONCURRENTLY "login_codes_user_id_idx" ON "login_codes" USING btree ("user_id") WHERE "login_codes"."user_id" is not null;--> statement-breakpoint
CREATE INDEX CONCURRENTLY "audit_events_resource_idx" ON "audit_events" USING btree ("resource") WHERE "audit_events"."ip_address" <> '';
