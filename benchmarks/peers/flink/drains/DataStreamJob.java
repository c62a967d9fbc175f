package drains;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Properties;

import org.apache.avro.Schema;
import org.apache.avro.generic.GenericRecord;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.functions.MapFunction;
import org.apache.flink.connector.file.sink.FileSink;
import org.apache.flink.connector.kafka.source.KafkaSource;
import org.apache.flink.connector.kafka.source.KafkaSourceBuilder;
import org.apache.flink.connector.kafka.source.enumerator.initializer.OffsetsInitializer;
import org.apache.flink.core.fs.Path;
import org.apache.flink.formats.parquet.row.ParquetRowDataBuilder;
import org.apache.flink.streaming.api.datastream.DataStreamSource;
import org.apache.flink.streaming.api.datastream.SingleOutputStreamOperator;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.sink.filesystem.bucketassigners.BasePathBucketAssigner;
import org.apache.flink.streaming.api.functions.windowing.ProcessWindowFunction;
import org.apache.flink.streaming.api.windowing.assigners.TumblingEventTimeWindows;
import org.apache.flink.streaming.api.windowing.windows.TimeWindow;
import org.apache.flink.table.data.GenericRowData;
import org.apache.flink.table.data.RowData;
import org.apache.flink.table.data.StringData;
import org.apache.flink.table.data.TimestampData;
import org.apache.flink.table.runtime.typeutils.InternalTypeInfo;
import org.apache.flink.table.types.logical.BigIntType;
import org.apache.flink.table.types.logical.BooleanType;
import org.apache.flink.table.types.logical.LogicalType;
import org.apache.flink.table.types.logical.RowType;
import org.apache.flink.table.types.logical.TimestampType;
import org.apache.flink.table.types.logical.VarCharType;
import org.apache.flink.util.Collector;
import org.apache.flink.util.OutputTag;
import org.apache.hadoop.conf.Configuration;

/**
 * The drain by the DataStream API: the windows of each result table to a folder of Parquet files, the late events of the
 * first to another.
 */
final class DataStreamJob {
    private static final OutputTag<Event> LATE = new OutputTag<>("late") {
        private static final long serialVersionUID = 1;
    };
    private static final LogicalType TIME = new TimestampType(3);
    private static final LogicalType TEXT = VarCharType.STRING_TYPE;
    private static final LogicalType COUNT = new BigIntType();
    /** Between the texts of a key of several fields, which is one text: Flink's tuples have no nulls. */
    private static final String BETWEEN = "\u001f";
    private static final String NULL = "\u0000";
    private static final RowType EVENTS = RowType.of(
            new LogicalType[] {TIME, TEXT, new BooleanType()}, new String[] {"event_time", "user_id", "click"});

    private DataStreamJob() {
    }

    static void define(DrainSettings settings, String folder, StreamExecutionEnvironment flink) {
        WatermarkStrategy<GenericRecord> watermarks = WatermarkStrategy
                .<GenericRecord>forBoundedOutOfOrderness(Duration.ofMillis(settings.bound()))
                .withTimestampAssigner((record, kafkas) -> (long) record.get("event_time"));
        if (settings.tolerant()) {
            watermarks = watermarks.withIdleness(Duration.ofMillis(settings.idleness()));
        }
        // Chained to all that reads it, so no record is serialized.
        DataStreamSource<GenericRecord> records = flink.fromSource(topic(settings), watermarks, "topic");
        settings.keys().forEach((table, key) -> {
            String[] fields = key.isEmpty() ? new String[0] : key.split(",");
            RowType type = windows(fields);
            SingleOutputStreamOperator<RowData> windows = records
                    .map(new Keyed(fields))
                    .keyBy(Event::key)
                    .window(TumblingEventTimeWindows.of(Duration.ofMillis(settings.window())))
                    .sideOutputLateData(LATE)
                    .aggregate(new Counts.Adding(), new Row(fields.length))
                    .returns(InternalTypeInfo.of(type));
            windows.sinkTo(files(folder + "/" + table, type));
            if (table.equals(Main.WINDOWS)) {
                windows.getSideOutput(LATE)
                        .map(DataStreamJob::row)
                        .returns(InternalTypeInfo.of(EVENTS))
                        .sinkTo(files(folder + "/" + Main.LATE, EVENTS));
            }
        });
    }

    private static RowType windows(String[] fields) {
        List<LogicalType> types = new ArrayList<>(List.of(TIME, TIME));
        List<String> names = new ArrayList<>(List.of("window_start", "window_end"));
        for (String field : fields) {
            types.add(TEXT);
            names.add(field);
        }
        types.addAll(List.of(COUNT, COUNT));
        names.addAll(List.of("page_views", "clicks"));
        return RowType.of(types.toArray(LogicalType[]::new), names.toArray(String[]::new));
    }

    private static KafkaSource<GenericRecord> topic(DrainSettings settings) {
        Properties consumer = new Properties();
        consumer.putAll(settings.consumer());
        FramedAvro avro = new FramedAvro(settings.writerSchema(), settings.readerSchema(), settings.tolerant());
        KafkaSourceBuilder<GenericRecord> source = KafkaSource.<GenericRecord>builder()
                .setProperties(consumer)
                .setTopics(settings.topic())
                .setStartingOffsets(OffsetsInitializer.earliest())
                .setValueOnlyDeserializer(avro);
        return (settings.bounded() ? source.setBounded(OffsetsInitializer.latest()) : source).build();
    }

    private static RowData row(Event event) {
        return GenericRowData.of(
                TimestampData.fromEpochMillis(event.time()), StringData.fromString(event.key()), event.click());
    }

    private static FileSink<RowData> files(String folder, RowType type) {
        Configuration parquet = new Configuration();
        parquet.set("parquet.compression", Main.COMPRESSION);
        parquet.set("parquet.write.int64.timestamp", "true");
        return FileSink.forBulkFormat(new Path(folder), ParquetRowDataBuilder.createWriterFactory(type, parquet, true))
                .withBucketAssigner(new BasePathBucketAssigner<>())
                .build();
    }

    /** The event of a record, with the key of these fields. */
    private static final class Keyed implements MapFunction<GenericRecord, Event> {
        private static final long serialVersionUID = 1;

        private final String[] fields;
        private transient int[] positions;
        private transient int type;
        private transient int time;

        Keyed(String[] fields) {
            this.fields = fields;
        }

        @Override
        public Event map(GenericRecord record) {
            if (positions == null) {
                Schema schema = record.getSchema();
                positions = Arrays.stream(fields).mapToInt(field -> schema.getField(field).pos()).toArray();
                type = schema.getField("event_type").pos();
                time = schema.getField("event_time").pos();
            }
            return new Event(key(record), (long) record.get(time), record.get(type).toString().equals("click"));
        }

        private String key(GenericRecord record) {
            String key = positions.length == 0 ? "" : text(record.get(positions[0]));
            for (int field = 1; field < positions.length; field++) {
                key = key + BETWEEN + text(record.get(positions[field]));
            }
            return key;
        }

        private static String text(Object value) {
            return value == null ? NULL : value.toString();
        }
    }

    private static final class Row extends ProcessWindowFunction<Counts, RowData, String, TimeWindow> {
        private static final long serialVersionUID = 1;

        private final int fields;

        Row(int fields) {
            this.fields = fields;
        }

        @Override
        public void process(String key, Context context, Iterable<Counts> results, Collector<RowData> rows) {
            Counts counts = results.iterator().next();
            String[] texts = key.split(BETWEEN, -1);
            GenericRowData row = new GenericRowData(fields + 4);
            row.setField(0, TimestampData.fromEpochMillis(context.window().getStart()));
            row.setField(1, TimestampData.fromEpochMillis(context.window().getEnd()));
            for (int field = 0; field < fields; field++) {
                row.setField(2 + field, texts[field].equals(NULL) ? null : StringData.fromString(texts[field]));
            }
            row.setField(2 + fields, counts.pageViews);
            row.setField(3 + fields, counts.clicks);
            rows.collect(row);
        }
    }
}
