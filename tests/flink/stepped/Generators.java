package stepped;

import java.time.Duration;

import org.apache.flink.api.common.eventtime.Watermark;
import org.apache.flink.api.common.eventtime.WatermarkGenerator;
import org.apache.flink.api.common.eventtime.WatermarkOutput;
import org.apache.flink.streaming.api.functions.timestamps.BoundedOutOfOrdernessTimestampExtractor;

/** What Flink leaves to its users to write, and what lets its generators be stepped. */
final class Generators {
    private Generators() {
    }

    /** Flink asks every few milliseconds; this lets it ask only after a step, when the stage says so. */
    static final class InStep implements WatermarkGenerator<Event> {
        private final Stage stage;
        private final WatermarkGenerator<Event> inner;
        private int looks;

        InStep(Stage stage, WatermarkGenerator<Event> inner) {
            this.stage = stage;
            this.inner = inner;
        }

        @Override
        public void onEvent(Event event, long time, WatermarkOutput output) {
            inner.onEvent(event, time, output);
        }

        /** Twice, because Flink measures silence from the first look that finds nothing new. */
        @Override
        public void onPeriodicEmit(WatermarkOutput output) {
            if (looks < stage.looks()) {
                looks++;
                inner.onPeriodicEmit(output);
                inner.onPeriodicEmit(output);
                stage.done();
            }
        }
    }

    /** Bounded, by the API before Flink 1.11, which Flink 2.3 still carries. */
    @SuppressWarnings("deprecation")
    static final class Older implements WatermarkGenerator<Event> {
        private final BoundedOutOfOrdernessTimestampExtractor<Event> extractor;

        Older(Duration bound) {
            extractor = new BoundedOutOfOrdernessTimestampExtractor<>(bound) {
                private static final long serialVersionUID = 1;

                @Override
                public long extractTimestamp(Event event) {
                    return event.eventTime();
                }
            };
        }

        @Override
        public void onEvent(Event event, long time, WatermarkOutput output) {
            extractor.extractTimestamp(event, time);
        }

        @Override
        public void onPeriodicEmit(WatermarkOutput output) {
            output.emitWatermark(new Watermark(extractor.getCurrentWatermark().getTimestamp()));
        }
    }

    /** Only a marker moves the watermark, and after its step, as in Tidemark. */
    static final class Punctuated implements WatermarkGenerator<Event> {
        private final Told.Condition marker;
        private long newest = Long.MIN_VALUE + 1;

        Punctuated(Told.Condition marker) {
            this.marker = marker;
        }

        @Override
        public void onEvent(Event event, long time, WatermarkOutput output) {
            if (marker.holds(event)) {
                newest = Math.max(newest, time);
            }
        }

        @Override
        public void onPeriodicEmit(WatermarkOutput output) {
            output.emitWatermark(new Watermark(newest - 1));
        }
    }

    /** The clock minus a lag, from the first step on: before it Tidemark has no watermark. */
    static final class TimeLag implements WatermarkGenerator<Event> {
        private final Stage stage;
        private final long lag;

        TimeLag(Stage stage, long lag) {
            this.stage = stage;
            this.lag = lag;
        }

        @Override
        public void onEvent(Event event, long time, WatermarkOutput output) {
        }

        @Override
        public void onPeriodicEmit(WatermarkOutput output) {
            if (stage.steps() > 0) {
                output.emitWatermark(new Watermark(stage.clock() - lag - 1));
            }
        }
    }
}
