package tidemark;

import org.apache.spark.sql.catalyst.expressions.XXH64;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * Hashes numbers and texts. The upper bits of a hash choose a slot.
 *
 * @param mask bits of a hash that are used: all, except in tests of equal hashes
 */
record Hashing(long mask) {
    private static final long ODD = 0x9E3779B97F4A7C15L;
    private static final long SEED = 42;

    /** Returns a slot for a number; {@code shift} is 64 less the bits of a slot. */
    int slot(long value, int shift) {
        return (int) (((value ^ value >>> 32) * ODD & mask) >>> shift);
    }

    /** Returns 32 bits for a text. */
    int of(UTF8String text) {
        return (int) ((XXH64.hashUTF8String(text, SEED) & mask) >>> 32);
    }
}
