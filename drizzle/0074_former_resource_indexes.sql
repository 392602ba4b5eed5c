DROP INDEX "audit_events_of_resource_idx";--> statement-breakpoint
DROP INDEX "audit_events_resource_idx";