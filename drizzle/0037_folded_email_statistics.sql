-- The planner's statistics are samples of values: an erasure would leave addresses in them.
ALTER INDEX "users_folded_email_key" ALTER 1 SET STATISTICS 0;
