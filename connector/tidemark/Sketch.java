package tidemark;

import org.apache.datasketches.hll.HllSketch;
import org.apache.datasketches.hll.TgtHllType;
import org.apache.spark.unsafe.types.UTF8String;

/** Counts different texts like {@code pipeline/sketches.py}, with the same library and sizes: their sketches merge. */
final class Sketch {
    private static final int LG_K = 12;

    private final HllSketch values = new HllSketch(LG_K, TgtHllType.HLL_8);

    /** Adds a text; null and the empty text are none. */
    void add(UTF8String text) {
        if (text != null && text.numBytes() > 0) {
            values.update(text.getBytes());
        }
    }

    byte[] bytes() {
        return values.toCompactByteArray();
    }
}
