package stepped;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;

import org.apache.flink.configuration.Configuration;
import org.apache.flink.configuration.PipelineOptions;
import org.apache.flink.configuration.RestartStrategyOptions;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.datastream.KeyedStream;
import org.apache.flink.streaming.api.datastream.SingleOutputStreamOperator;
import org.apache.flink.streaming.api.datastream.WindowedStream;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.graph.StreamGraph;
import org.apache.flink.streaming.api.windowing.assigners.EventTimeSessionWindows;
import org.apache.flink.streaming.api.windowing.assigners.SlidingEventTimeWindows;
import org.apache.flink.streaming.api.windowing.assigners.TumblingEventTimeWindows;
import org.apache.flink.streaming.api.windowing.assigners.WindowAssigner;
import org.apache.flink.streaming.api.windowing.windows.GlobalWindow;
import org.apache.flink.streaming.api.windowing.windows.TimeWindow;
import org.apache.flink.util.OutputTag;

/** A transcript as a Flink job: topic, watermarks, windows by key for each report, and late events apart. */
final class Job {
    private static final Duration LOOK_EVERY = Duration.ofMillis(2);
    private static final OutputTag<Event> LATE = new OutputTag<>("late") {
        private static final long serialVersionUID = 1;
    };

    private Job() {
    }

    static StreamGraph of(Told told, int windowTasks) {
        Configuration settings = new Configuration()
                .set(PipelineOptions.AUTO_WATERMARK_INTERVAL, LOOK_EVERY)
                .set(RestartStrategyOptions.RESTART_STRATEGY, "none");
        StreamExecutionEnvironment flink = StreamExecutionEnvironment.getExecutionEnvironment(settings);
        // Checkpoints are made after every step, by hand.
        flink.enableCheckpointing(Duration.ofDays(1).toMillis());
        flink.setParallelism(windowTasks);
        DataStream<Event> topic = flink
                .fromSource(new Topic(told.partitions()), new Watermarks(told.time()), "topic")
                .setParallelism(told.readers());
        told.reports().forEach(report -> add(report, topic, told.readers()));
        return flink.getStreamGraph();
    }

    /** Filters are as many as readers: dealt out to more, the events of a user would lose their order. */
    private static void add(Told.Report report, DataStream<Event> topic, int readers) {
        String name = report.name();
        Told.Condition where = report.where();
        // A list that a lambda takes along must be one that Java can write as bytes.
        ArrayList<String> keys = new ArrayList<>(report.keys());
        ArrayList<String> measures = new ArrayList<>(report.measures());
        KeyedStream<Event, String> keyed = topic
                .filter(where::holds)
                .setParallelism(readers)
                .keyBy(event -> key(event, keys));
        if (report.window().kind().equals("count")) {
            counted(keyed, report.window())
                    .process(new Counts<GlobalWindow>(name, measures))
                    .sinkTo(new Kept<>(Stage::fired));
            return;
        }
        SingleOutputStreamOperator<Row> counts = keyed
                .window(windows(report.window()))
                .allowedLateness(Duration.ofMillis(report.allowedLateness()))
                .sideOutputLateData(LATE)
                .process(new Counts<TimeWindow>(name, measures));
        counts.sinkTo(new Kept<>(Stage::fired));
        counts.getSideOutput(LATE).sinkTo(new Kept<>((stage, event) -> stage.late(new Late(name, event))));
    }

    /** Without a slide each event is in one window. */
    private static WindowedStream<Event, String, GlobalWindow> counted(
            KeyedStream<Event, String> keyed, Told.Window window) {
        return window.slide() == 0
                ? keyed.countWindow(window.size())
                : keyed.countWindow(window.size(), window.slide());
    }

    private static String key(Event event, List<String> keys) {
        return keys.stream().map(event::value).collect(Collectors.joining(" "));
    }

    private static WindowAssigner<Object, TimeWindow> windows(Told.Window window) {
        Duration size = Duration.ofMillis(window.size());
        Duration slide = Duration.ofMillis(window.slide());
        Duration offset = Duration.ofMillis(window.offset());
        return switch (window.kind()) {
            case "tumbling" -> TumblingEventTimeWindows.of(size, offset);
            case "sliding" -> SlidingEventTimeWindows.of(size, slide, offset);
            case "growing" -> new Growing(window.size(), window.slide(), window.offset());
            case "session" -> EventTimeSessionWindows.withGap(size);
            default -> throw new IllegalArgumentException(window.kind());
        };
    }
}
