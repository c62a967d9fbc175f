package tidemark;

import org.apache.datasketches.hll.HllSketch;
import org.apache.datasketches.hll.TgtHllType;
import org.apache.spark.unsafe.types.UTF8String;

/** Counts different texts like {@code pipeline/sketches.py}, with the same library and sizes: their sketches merge. */
final class Sketch {
    private static final int LG_K = 12;

    private final HllSketch values = new HllSketch(LG_K, TgtHllType.HLL_8);

    /** Adds a text; null is none, and the library ignores empty texts. */
    void add(UTF8String text) {
        if (text != null) {
            values.update(text.getBytes());
        }
    }

    byte[] bytes() {
        return values.toCompactByteArray();
    }
}
