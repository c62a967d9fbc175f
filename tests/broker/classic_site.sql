-- A recount of the reports of docs/classic-site.toml over the table `raw`: a view for each report, with its columns and
-- the start of each window. No user has two events at a time. Times are milliseconds; a visit ends after 1,800,000.
CREATE VIEW events AS
SELECT *, event_type = 'visit' AS is_visit,
  regexp_extract(page_url, '^https://[^/]+([^?]*)', 1) AS page,
  nullif(regexp_extract(referrer, '^https?://([^/]+)', 1), '') AS host,
  nullif(regexp_extract(page_url, 'utm_campaign=([^&]*)', 1), '') AS campaign,
  timezone('Europe/Berlin', make_timestamptz(event_time * 1000)) AS local,
  epoch_ms(timezone('Europe/Berlin', date_trunc('day', local))) AS day,
FROM raw;

CREATE VIEW traffic_by_minute AS
SELECT event_time // 60_000 * 60_000 AS start_ms, count(*) FILTER (is_visit) AS page_views,
  count(*) FILTER (NOT is_visit) AS clicks,
FROM events GROUP BY ALL;

CREATE VIEW traffic_by_hour AS
SELECT event_time // 3_600_000 * 3_600_000 AS start_ms, count(*) FILTER (is_visit) AS page_views,
  count(*) FILTER (NOT is_visit) AS clicks,
FROM events GROUP BY ALL;

CREATE VIEW traffic_by_day AS
SELECT day AS start_ms, count(*) FILTER (is_visit) AS page_views, count(*) FILTER (NOT is_visit) AS clicks,
  count(DISTINCT user_id) AS unique_users, count(DISTINCT page) AS different_pages,
FROM events GROUP BY ALL;

CREATE VIEW pages AS
SELECT day AS start_ms, page, count(*) FILTER (is_visit) AS page_views, count(*) FILTER (NOT is_visit) AS clicks,
  count(DISTINCT user_id) AS unique_users,
FROM events GROUP BY ALL;

CREATE VIEW entries AS
SELECT day AS start_ms, page, count(*) AS page_views, count(*) FILTER (begins) AS sessions_begun,
FROM (
  SELECT *, coalesce(event_time - lag(event_time) OVER (PARTITION BY user_id ORDER BY event_time) > 1_800_000, true)
    AS begins,
  FROM events WHERE is_visit
)
GROUP BY ALL;

CREATE VIEW referring_hosts AS
SELECT day AS start_ms, host, count(*) AS page_views, count(DISTINCT user_id) AS unique_users,
FROM events WHERE is_visit AND host <> 'shop.example' GROUP BY ALL;

CREATE VIEW campaigns AS
SELECT day AS start_ms, campaign, count(*) FILTER (is_visit) AS page_views, count(*) FILTER (NOT is_visit) AS clicks,
  count(DISTINCT user_id) AS unique_users,
FROM events WHERE campaign IS NOT NULL GROUP BY ALL;

CREATE VIEW hours_of_the_day AS
SELECT day AS start_ms, hour(local) AS hour, count(*) FILTER (is_visit) AS page_views,
  count(*) FILTER (NOT is_visit) AS clicks,
FROM events GROUP BY ALL;

CREATE VIEW numbered AS
SELECT *, sum(begins::int) OVER (PARTITION BY user_id ORDER BY event_time) AS visit,
FROM (
  SELECT *, coalesce(event_time - lag(event_time) OVER (PARTITION BY user_id ORDER BY event_time) > 1_800_000, true)
    AS begins,
  FROM events
);

CREATE VIEW visits AS
SELECT min(event_time) AS start_ms, user_id, count(*) FILTER (is_visit) AS page_views,
  count(*) FILTER (NOT is_visit) AS clicks, max(event_time) - min(event_time) AS duration_ms,
  (count(*) = 1 AND bool_and(is_visit))::int AS bounced,
  min_by(page, event_time) FILTER (is_visit) AS entry, max_by(page, event_time) FILTER (is_visit) AS exit,
  min_by(host, event_time) FILTER (host IS NOT NULL) AS source,
FROM numbered GROUP BY user_id, visit;

CREATE VIEW exits AS SELECT start_ms, user_id, exit, page_views FROM visits;
