"""Event time, pure: rules, watermark, windows, verdicts. No Spark, clock, logging or I/O; `now` is an argument."""
