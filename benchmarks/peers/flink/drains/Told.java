package drains;

import java.util.Map;

/** What a process drains, and how. Schemas are Avro's JSON; times are milliseconds; consumer options are Kafka's. */
public record Told(
        String job,
        String topic,
        Map<String, String> consumer,
        String writerSchema,
        String readerSchema,
        int cores,
        long bound,
        long window,
        long checkpointInterval,
        String scratch) {
}
