package drains;

import java.util.Map;
import java.util.stream.Collectors;

import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.table.api.bridge.java.StreamTableEnvironment;

/** The drain by SQL. Flink's window aggregation drops late events and counts the dropped rows. */
final class SqlJob {
    private static final String TOPIC = """
            CREATE TEMPORARY TABLE events (
              event_type STRING,
              user_id STRING,
              event_time TIMESTAMP_LTZ(3),
              %s
              WATERMARK FOR event_time AS event_time - INTERVAL '%s' SECOND
            ) WITH (%s)""";
    private static final String RESULT = """
            CREATE TEMPORARY TABLE page_views (
              window_start TIMESTAMP(3),
              window_end TIMESTAMP(3),
              user_id STRING,
              page_views BIGINT,
              clicks BIGINT
            ) WITH (%s)""";
    private static final String WINDOWS = """
            INSERT INTO page_views
            SELECT window_start, window_end, user_id,
                   COUNT(*) FILTER (WHERE event_type = 'visit'),
                   COUNT(*) FILTER (WHERE event_type = 'click')
            FROM %s
            GROUP BY window_start, window_end, user_id""";

    private static final String WITH_WINDOWS =
            "TUMBLE(TABLE events, DESCRIPTOR(event_time), INTERVAL '%s' SECOND)";
    private static final String ONCE = """
            (SELECT * FROM (
              SELECT *, ROW_NUMBER() OVER (
                PARTITION BY window_start, window_end, event_id ORDER BY event_time) AS copy
              FROM %s)
            WHERE copy = 1)""";

    private SqlJob() {
    }

    static void define(DrainSettings settings, String folder, StreamExecutionEnvironment flink) {
        StreamTableEnvironment tables = StreamTableEnvironment.create(flink);
        tables.getConfig().set("table.local-time-zone", "UTC");
        tables.executeSql(TOPIC.formatted(
                settings.endless() ? "event_id STRING," : "", settings.bound() / 1000, options(source(settings))));
        tables.executeSql(RESULT.formatted(options(Map.of(
                "connector", "filesystem",
                "path", folder + "/" + Main.WINDOWS,
                "format", "parquet",
                "parquet.compression", Main.COMPRESSION,
                "parquet.write.int64.timestamp", "true"))));
        String rows = WITH_WINDOWS.formatted(settings.window() / 1000);
        String windows = WINDOWS.formatted(settings.endless() ? ONCE.formatted(rows) : rows);
        tables.createStatementSet().addInsertSql(windows).attachAsDataStream();
    }

    private static Map<String, String> source(DrainSettings settings) {
        Map<String, String> options = settings.consumer().entrySet().stream()
                .collect(Collectors.toMap(option -> "properties." + option.getKey(), Map.Entry::getValue));
        options.putAll(Map.of(
                "connector", "kafka",
                "topic", settings.topic(),
                "scan.startup.mode", "earliest-offset",
                "format", "framed-avro",
                "framed-avro.writer-schema", settings.writerSchema(),
                "framed-avro.reader-schema", settings.readerSchema()));
        options.putAll(settings.endless()
                ? Map.of(
                        "scan.watermark.idle-timeout", settings.idleness() + " ms",
                        "framed-avro.ignore-parse-errors", "true")
                : Map.of("scan.bounded.mode", "latest-offset"));
        return options;
    }

    private static String options(Map<String, String> options) {
        return options.entrySet().stream()
                .map(option -> "'%s' = '%s'".formatted(option.getKey(), option.getValue().replace("'", "''")))
                .collect(Collectors.joining(", "));
    }
}
