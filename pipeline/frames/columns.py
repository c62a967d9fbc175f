"""Column names, each written once.

Times are integer milliseconds since the epoch except in `page_views`, whose window bounds are timestamps in UTC.
"""

from typing import Final

AGE_MS: Final = "age_ms"
BATCH: Final = "batch"
CHECK: Final = "check"
CLICKS: Final = "clicks"
DETAIL: Final = "detail"
EVENT_TIME: Final = "event_time"
EVENT_TYPE: Final = "event_type"
KAFKA_TIMESTAMP: Final = "kafka_timestamp"
KEY: Final = "key"
LATE_EVENTS: Final = "late_events"
MAX_EVENT_TIME: Final = "max_event_time"
OFFSET: Final = "offset"
OLDEST: Final = "oldest"
PAGE_VIEWS: Final = "page_views"
PANE_START: Final = "pane_start"
PARTITION: Final = "partition"
PUBLISHED_BATCH: Final = "published_batch"
REASON: Final = "reason"
RECORDS: Final = "records"
TIME: Final = "time"
TOPIC: Final = "topic"
USER_ID: Final = "user_id"
VALUE: Final = "value"
WATERMARK: Final = "watermark"
WINDOW_END: Final = "window_end"
WINDOW_START: Final = "window_start"
