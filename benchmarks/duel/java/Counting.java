package duel;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Properties;

import org.apache.avro.Schema;
import org.apache.avro.generic.GenericDatumReader;
import org.apache.avro.generic.GenericRecord;
import org.apache.avro.io.DecoderFactory;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.common.config.TopicConfig;
import org.apache.kafka.common.errors.SerializationException;
import org.apache.kafka.common.serialization.Serde;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.errors.LogAndContinueExceptionHandler;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.Grouped;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.kstream.Produced;
import org.apache.kafka.streams.kstream.TimeWindows;

/** Counts events per key and minute by Kafka Streams: `Counting SERVERS TOPIC OUTPUT DEAD STATE-FOLDER SCHEMA-FILE`. */
public final class Counting {
    private static final int FRAME_BYTES = 5;
    private static final Duration WINDOW = Duration.ofMinutes(1);
    private static final Duration GRACE = Duration.ofSeconds(10);
    private static final int SESSION_MS = 10_000;

    private Counting() {
    }

    public static void main(String[] arguments) throws IOException {
        Schema schema = new Schema.Parser().parse(Files.readString(Path.of(arguments[5])));
        Serde<Long> times = Serdes.serdeFrom((topic, time) -> null, (topic, value) -> time(schema, value));
        StreamsBuilder builder = new StreamsBuilder();
        builder.stream(arguments[1], Consumed.with(Serdes.String(), times).withTimestampExtractor(
                        (record, partitionTime) -> record.value() == null ? -1 : (long) record.value()))
                .groupByKey(Grouped.with(Serdes.String(), times))
                .windowedBy(TimeWindows.ofSizeAndGrace(WINDOW, GRACE))
                .count(Materialized.with(Serdes.String(), Serdes.Long()))
                .toStream()
                .map((window, count) -> KeyValue.pair(
                        window.key(), "{\"start\": %d, \"value\": %d}".formatted(window.window().start(), count)))
                .to(arguments[2], Produced.with(Serdes.String(), Serdes.String()));
        new KafkaStreams(builder.build(), options(arguments)).start();
    }

    private static Properties options(String[] arguments) {
        Properties options = new Properties();
        options.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, arguments[0]);
        options.put(StreamsConfig.APPLICATION_ID_CONFIG, arguments[1]);
        options.put(StreamsConfig.STATE_DIR_CONFIG, arguments[4]);
        options.put(StreamsConfig.PROCESSING_GUARANTEE_CONFIG, StreamsConfig.EXACTLY_ONCE_V2);
        options.put(StreamsConfig.NUM_STREAM_THREADS_CONFIG, Runtime.getRuntime().availableProcessors());
        options.put(
                StreamsConfig.DESERIALIZATION_EXCEPTION_HANDLER_CLASS_CONFIG, LogAndContinueExceptionHandler.class);
        options.put(StreamsConfig.ERRORS_DEAD_LETTER_QUEUE_TOPIC_NAME_CONFIG, arguments[3]);
        options.put(StreamsConfig.consumerPrefix(ConsumerConfig.SESSION_TIMEOUT_MS_CONFIG), SESSION_MS);
        // A broker refuses records that are dated more than an hour ahead, and Kafka Streams ends by that.
        options.put(StreamsConfig.topicPrefix(TopicConfig.MESSAGE_TIMESTAMP_AFTER_MAX_MS_CONFIG), Long.MAX_VALUE);
        return options;
    }

    /** Returns the event time of a framed event in milliseconds. */
    private static long time(Schema schema, byte[] value) {
        if (value.length < FRAME_BYTES || value[0] != 0) {
            throw new SerializationException("a value without the frame of a schema registry");
        }
        try {
            GenericDatumReader<GenericRecord> reader = new GenericDatumReader<>(schema);
            var decoder = DecoderFactory.get().binaryDecoder(value, FRAME_BYTES, value.length - FRAME_BYTES, null);
            return (long) reader.read(null, decoder).get("event_time");
        } catch (IOException | RuntimeException error) {
            throw new SerializationException("a value that is not an event", error);
        }
    }
}
