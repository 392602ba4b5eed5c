ALTER TABLE "check_ins" DROP CONSTRAINT "check_ins_application_id_event_id_events_application_id_id_fk";
