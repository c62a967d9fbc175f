package drains;

import java.util.Map;
import java.util.stream.Collectors;

import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.table.api.bridge.java.StreamStatementSet;
import org.apache.flink.table.api.bridge.java.StreamTableEnvironment;

/** The drain by SQL, into any number of tables from one source. Flink's window aggregation drops late events and counts the dropped rows. */
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
            FROM TUMBLE(TABLE events, DESCRIPTOR(%s), INTERVAL '%s' SECOND)
            GROUP BY window_start, window_end%s""";

    private SqlJob() {
    }

    static void define(DrainSettings settings, String folder, StreamExecutionEnvironment flink) {
        StreamTableEnvironment tables = StreamTableEnvironment.create(flink);
        tables.getConfig().set("table.local-time-zone", "UTC");
        boolean json = settings.format().equals(JSON);
        String time = json ? "rowtime" : "event_time";
        tables.executeSql(TOPIC.formatted(
                columns(settings, json), time, settings.bound() / 1000, options(source(settings, json))));
        StreamStatementSet statements = tables.createStatementSet();
        settings.keys().forEach((table, key) -> {
            tables.executeSql(RESULT.formatted(table, key.isEmpty() ? "" : key + " STRING,", options(Map.of(
                    "connector", "filesystem",
                    "path", folder + "/" + table,
                    "format", "parquet",
                    "parquet.compression", Main.COMPRESSION,
                    "parquet.write.int64.timestamp", "true"))));
            statements.addInsertSql(WINDOWS.formatted(
                    table,
                    key.isEmpty() ? "" : key + ",",
                    time,
                    settings.window() / 1000,
                    key.isEmpty() ? "" : ", " + key));
        });
        statements.attachAsDataStream();
    }

    /** Returns the columns after the kind and the user, in the order of the reader's schema. */
    private static String columns(DrainSettings settings, boolean json) {
        String page = settings.keys().containsValue("page_url") ? "page_url STRING," : "";
        // Flink's JSON format reads times from texts only, so milliseconds need a computed column.
        return json
                ? "event_time BIGINT," + page + "rowtime AS TO_TIMESTAMP_LTZ(event_time, 3),"
                : "event_time TIMESTAMP_LTZ(3)," + page;
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
        return options;
    }

    private static String options(Map<String, String> options) {
        return options.entrySet().stream()
                .map(option -> "'%s' = '%s'".formatted(option.getKey(), option.getValue().replace("'", "''")))
                .collect(Collectors.joining(", "));
    }
}
