package tidemark;

/** Reads Avro's binary encoding between two places of an array. Whatever does not fit ends in {@link Malformed}. */
final class Input {
    private static final int MOST_DEPTH = 500;

    byte[] bytes;
    int at;
    int end;
    private int depth;

    /** Reads from {@code from} (inclusive) to {@code to} (exclusive). */
    void over(byte[] array, int from, int to) {
        bytes = array;
        at = from;
        end = to;
        depth = 0;
    }

    /** Returns a number in zigzag, in groups of seven bits, of which there are at most ten. */
    long number() {
        long value = 0;
        for (int shift = 0; shift < 70; shift += 7) {
            if (at >= end) {
                throw Malformed.INSTANCE;
            }
            byte group = bytes[at++];
            value |= (long) (group & 0x7f) << shift;
            if (group >= 0) {
                return (value >>> 1) ^ -(value & 1);
            }
        }
        throw Malformed.INSTANCE;
    }

    /** Returns a number that fits into an int. */
    int integer() {
        long value = number();
        if (value != (int) value) {
            throw Malformed.INSTANCE;
        }
        return (int) value;
    }

    /** Returns a number of bytes or values that the rest of the record can hold. */
    int length() {
        return within(number());
    }

    /** Returns the number of values in the next block of an array or map; 0 at its end. */
    int block() {
        long count = number();
        if (count < 0) {
            within(number());  // the bytes of the block
            count = count == Long.MIN_VALUE ? count : -count;
        }
        return within(count);
    }

    boolean readBoolean() {
        byte value = bytes[skip(1)];
        if (value != 0 && value != 1) {
            throw Malformed.INSTANCE;
        }
        return value == 1;
    }

    float decimal4() {
        return Float.intBitsToFloat((int) littleEndian(4));
    }

    double decimal8() {
        return Double.longBitsToDouble(littleEndian(8));
    }

    /** Passes a number of bytes; returns where they begin. */
    int skip(int count) {
        if (count > end - at) {
            throw Malformed.INSTANCE;
        }
        int from = at;
        at += count;
        return from;
    }

    /** Goes into a record, array or map, which may be in itself. */
    void enter() {
        if (++depth > MOST_DEPTH) {
            throw Malformed.INSTANCE;
        }
    }

    void leave() {
        depth--;
    }

    private int within(long count) {
        if (count < 0 || count > end - at) {
            throw Malformed.INSTANCE;
        }
        return (int) count;
    }

    private long littleEndian(int count) {
        int from = skip(count);
        long value = 0;
        for (int index = count - 1; index >= 0; index--) {
            value = value << 8 | bytes[from + index] & 0xff;
        }
        return value;
    }
}
