DROP INDEX "application_users_user_id_idx";--> statement-breakpoint
DROP INDEX "sessions_user_id_idx";--> statement-breakpoint
DROP INDEX "audit_events_act_resource_filter_idx";