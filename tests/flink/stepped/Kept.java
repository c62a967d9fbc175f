package stepped;

import java.io.Serializable;
import java.util.function.BiConsumer;

import org.apache.flink.api.common.eventtime.Watermark;
import org.apache.flink.api.connector.sink2.Sink;
import org.apache.flink.api.connector.sink2.SinkWriter;
import org.apache.flink.api.connector.sink2.WriterInitContext;

/** A sink that brings what it gets to the stage, and the watermarks that come with it. */
record Kept<T>(Keep<T> keep) implements Sink<T> {
    /** Flink sends the sink to its tasks as bytes. */
    interface Keep<T> extends BiConsumer<Stage, T>, Serializable {
    }

    @Override
    public SinkWriter<T> createWriter(WriterInitContext context) {
        return new Writer<>(Stage.current, keep);
    }

    private record Writer<T>(Stage stage, Keep<T> keep) implements SinkWriter<T> {
        @Override
        public void write(T element, Context context) {
            keep.accept(stage, element);
        }

        @Override
        public void writeWatermark(Watermark watermark) {
            stage.watermark(watermark.getTimestamp());
        }

        @Override
        public void flush(boolean endOfInput) {
        }

        @Override
        public void close() {
        }
    }
}
