package drains;

import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.Stream;

import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.table.api.bridge.java.StreamStatementSet;
import org.apache.flink.table.api.bridge.java.StreamTableEnvironment;

/**
 * The drain by SQL, into any number of tables from one source. Flink's window aggregation drops late events and counts
 * the dropped rows.
 */
final class SqlJob {
    private static final String JSON = "json";
    private static final String TOPIC = """
            CREATE TEMPORARY TABLE events (
              event_type STRING,
              user_id STRING,
              %s
              WATERMARK FOR %s AS %2$s - INTERVAL '%s' SECOND
            ) WITH (%s)""";
    private static final String RESULT = """
            CREATE TEMPORARY TABLE %s (
              window_start TIMESTAMP(3),
              window_end TIMESTAMP(3),
              %s
              page_views BIGINT,
              clicks BIGINT
            ) WITH (%s)""";
    private static final String WINDOWS = """
            INSERT INTO %s
            SELECT window_start, window_end, %s
                   COUNT(*) FILTER (WHERE event_type = 'visit'),
                   COUNT(*) FILTER (WHERE event_type = 'click')
            FROM %s
            GROUP BY window_start, window_end%s""";
    private static final String WITH_WINDOWS =
            "TUMBLE(TABLE events, DESCRIPTOR(%s), INTERVAL '%s' SECOND)";
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
        boolean json = settings.format().equals(JSON);
        String time = json ? "rowtime" : "event_time";
        tables.executeSql(TOPIC.formatted(
                columns(settings, json), time, settings.bound() / 1000, options(source(settings, json))));
        String windows = WITH_WINDOWS.formatted(time, settings.window() / 1000);
        String rows = settings.tolerant() ? ONCE.formatted(windows) : windows;
        StreamStatementSet statements = tables.createStatementSet();
        settings.keys().forEach((table, key) -> {
            tables.executeSql(RESULT.formatted(table, key.isEmpty() ? "" : key.replace(",", " STRING,") + " STRING,", options(Map.of(
                    "connector", "filesystem",
                    "path", folder + "/" + table,
                    "format", "parquet",
                    "parquet.compression", Main.COMPRESSION,
                    "parquet.write.int64.timestamp", "true"))));
            statements.addInsertSql(WINDOWS.formatted(
                    table,
                    key.isEmpty() ? "" : key + ",",
                    rows,
                    key.isEmpty() ? "" : ", " + key));
        });
        statements.attachAsDataStream();
    }

    /** Returns the columns after the kind and the user, in the order of the reader's schema. */
    private static String columns(DrainSettings settings, boolean json) {
        String further = settings.keys().values().stream().flatMap(key -> Stream.of(key.split(",")))
                .filter(key -> !List.of("", "event_type", "user_id").contains(key)).distinct()
                .map(key -> key + " STRING,").collect(Collectors.joining());
        String id = settings.tolerant() ? "event_id STRING," : "";
        // Flink's JSON format reads times from texts only, so milliseconds need a computed column.
        return json
                ? "event_time BIGINT," + further + "rowtime AS TO_TIMESTAMP_LTZ(event_time, 3),"
                : "event_time TIMESTAMP_LTZ(3)," + further + id;
    }

    private static Map<String, String> source(DrainSettings settings, boolean json) {
        Map<String, String> options = settings.consumer().entrySet().stream()
                .collect(Collectors.toMap(option -> "properties." + option.getKey(), Map.Entry::getValue));
        options.putAll(Map.of(
                "connector", "kafka",
                "topic", settings.topic(),
                "scan.startup.mode", "earliest-offset",
                "scan.bounded.mode", settings.bounded() ? "latest-offset" : "unbounded",
                "format", json ? JSON : "framed-avro"));
        if (!json) {
            options.put("framed-avro.writer-schema", settings.writerSchema());
            options.put("framed-avro.reader-schema", settings.readerSchema());
        }
        if (settings.tolerant()) {
            options.put("scan.watermark.idle-timeout", settings.idleness() + " ms");
            options.put("framed-avro.ignore-parse-errors", "true");
        }
        return options;
    }

    private static String options(Map<String, String> options) {
        return options.entrySet().stream()
                .map(option -> "'%s' = '%s'".formatted(option.getKey(), option.getValue().replace("'", "''")))
                .collect(Collectors.joining(", "));
    }
}
