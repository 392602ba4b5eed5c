DROP INDEX "audit_events_act_resource_filters_idx";--> statement-breakpoint
DROP INDEX "audit_events_act_actor_idx";--> statement-breakpoint
DROP INDEX "audit_events_act_action_idx";--> statement-breakpoint
DROP INDEX "audit_events_act_application_actor_idx";--> statement-breakpoint
DROP INDEX "audit_events_act_application_action_idx";--> statement-breakpoint
DROP INDEX "audit_events_act_actor_action_idx";--> statement-breakpoint
DROP INDEX "audit_events_act_application_action_actor_idx";