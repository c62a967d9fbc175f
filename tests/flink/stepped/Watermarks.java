package stepped;

import java.time.Duration;

import org.apache.flink.api.common.eventtime.BoundedOutOfOrdernessWatermarks;
import org.apache.flink.api.common.eventtime.TimestampAssigner;
import org.apache.flink.api.common.eventtime.TimestampAssignerSupplier;
import org.apache.flink.api.common.eventtime.WatermarkGenerator;
import org.apache.flink.api.common.eventtime.WatermarkGeneratorSupplier;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.eventtime.WatermarksWithIdleness;
import org.apache.flink.util.clock.RelativeClock;

/** A transcript's settings as a watermark strategy: Flink's own classes where it has them. */
record Watermarks(Told.Time time) implements WatermarkStrategy<Event> {
    @Override
    public TimestampAssigner<Event> createTimestampAssigner(TimestampAssignerSupplier.Context context) {
        Stage stage = Stage.current;
        return switch (time.of()) {
            case "event" -> (event, stamp) -> event.eventTime();
            case "ingestion" -> (event, stamp) -> stamp;
            case "processing" -> (event, stamp) -> stage.clock();
            default -> throw new IllegalArgumentException(time.of());
        };
    }

    @Override
    public WatermarkGenerator<Event> createWatermarkGenerator(WatermarkGeneratorSupplier.Context context) {
        Stage stage = Stage.current;
        WatermarkGenerator<Event> plain = switch (time.strategy()) {
            case "bounded" -> new BoundedOutOfOrdernessWatermarks<>(Duration.ofMillis(time.bound()));
            case "older" -> new Generators.Older(Duration.ofMillis(time.bound()));
            case "punctuated" -> new Generators.Punctuated(time.marker());
            case "time_lag" -> new Generators.TimeLag(stage, time.lag());
            default -> throw new IllegalArgumentException(time.strategy());
        };
        return new Generators.InStep(stage, time.strategy().equals("time_lag") ? plain : idle(plain, stage));
    }

    /** Flink is idle after *more than* the timeout, Tidemark at it: a nanosecond less makes that one and the same. */
    private WatermarkGenerator<Event> idle(WatermarkGenerator<Event> plain, Stage stage) {
        Duration timeout = Duration.ofMillis(time.idleTimeout()).minusNanos(1);
        return new WatermarksWithIdleness<>(plain, timeout, new Clock(stage));
    }

    /** The transcript's clock, by which Flink measures silence. */
    private record Clock(Stage stage) implements RelativeClock {
        @Override
        public long relativeTimeMillis() {
            return stage.clock();
        }

        @Override
        public long relativeTimeNanos() {
            return Duration.ofMillis(stage.clock()).toNanos();
        }
    }
}
