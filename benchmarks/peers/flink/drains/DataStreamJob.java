package drains;

import java.time.Duration;
import java.util.Properties;

import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.connector.file.sink.FileSink;
import org.apache.flink.connector.kafka.source.KafkaSource;
import org.apache.flink.connector.kafka.source.KafkaSourceBuilder;
import org.apache.flink.connector.kafka.source.enumerator.initializer.OffsetsInitializer;
import org.apache.flink.core.fs.Path;
import org.apache.flink.formats.parquet.row.ParquetRowDataBuilder;
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

/** The drain by the DataStream API: windows to one folder of Parquet files, late events to another. */
final class DataStreamJob {
    private static final OutputTag<Event> LATE = new OutputTag<>("late") {
        private static final long serialVersionUID = 1;
    };
    private static final LogicalType TIME = new TimestampType(3);
    private static final LogicalType TEXT = VarCharType.STRING_TYPE;
    private static final LogicalType COUNT = new BigIntType();
    private static final RowType WINDOWS = RowType.of(
            new LogicalType[] {TIME, TIME, TEXT, COUNT, COUNT},
            new String[] {"window_start", "window_end", "user_id", "page_views", "clicks"});
    private static final RowType EVENTS = RowType.of(
            new LogicalType[] {TIME, TEXT, new BooleanType()}, new String[] {"event_time", "user_id", "click"});

    private DataStreamJob() {
    }

    static void define(DrainSettings settings, String folder, StreamExecutionEnvironment flink) {
        WatermarkStrategy<Event> watermarks = WatermarkStrategy
                .<Event>forBoundedOutOfOrderness(Duration.ofMillis(settings.bound()))
                .withTimestampAssigner((event, kafkas) -> event.time());
        if (settings.tolerant()) {
            watermarks = watermarks.withIdleness(Duration.ofMillis(settings.idleness()));
        }
        SingleOutputStreamOperator<RowData> windows = flink
                .fromSource(topic(settings), watermarks, "topic")
                .keyBy(Event::user)
                .window(TumblingEventTimeWindows.of(Duration.ofMillis(settings.window())))
                .sideOutputLateData(LATE)
                .aggregate(new Counts.Adding(), new Row())
                .returns(InternalTypeInfo.of(WINDOWS));
        windows.sinkTo(files(folder + "/" + Main.WINDOWS, WINDOWS));
        windows.getSideOutput(LATE)
                .map(DataStreamJob::row)
                .returns(InternalTypeInfo.of(EVENTS))
                .sinkTo(files(folder + "/" + Main.LATE, EVENTS));
    }

    private static KafkaSource<Event> topic(DrainSettings settings) {
        Properties consumer = new Properties();
        consumer.putAll(settings.consumer());
        FramedAvro avro = new FramedAvro(settings.writerSchema(), settings.readerSchema(), settings.tolerant());
        KafkaSourceBuilder<Event> source = KafkaSource.<Event>builder()
                .setProperties(consumer)
                .setTopics(settings.topic())
                .setStartingOffsets(OffsetsInitializer.earliest())
                .setValueOnlyDeserializer(new Events(avro));
        return (settings.bounded() ? source.setBounded(OffsetsInitializer.latest()) : source).build();
    }

    private static RowData row(Event event) {
        return GenericRowData.of(
                TimestampData.fromEpochMillis(event.time()), StringData.fromString(event.user()), event.click());
    }

    private static FileSink<RowData> files(String folder, RowType type) {
        Configuration parquet = new Configuration();
        parquet.set("parquet.compression", Main.COMPRESSION);
        parquet.set("parquet.write.int64.timestamp", "true");
        return FileSink.forBulkFormat(new Path(folder), ParquetRowDataBuilder.createWriterFactory(type, parquet, true))
                .withBucketAssigner(new BasePathBucketAssigner<>())
                .build();
    }

    private static final class Row extends ProcessWindowFunction<Counts, RowData, String, TimeWindow> {
        private static final long serialVersionUID = 1;

        @Override
        public void process(String user, Context context, Iterable<Counts> results, Collector<RowData> rows) {
            Counts counts = results.iterator().next();
            rows.collect(GenericRowData.of(
                    TimestampData.fromEpochMillis(context.window().getStart()),
                    TimestampData.fromEpochMillis(context.window().getEnd()),
                    StringData.fromString(user),
                    counts.pageViews,
                    counts.clicks));
        }
    }
}
