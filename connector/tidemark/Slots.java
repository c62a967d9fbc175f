package tidemark;

/** How full a hash table may be. */
final class Slots {
    private static final int LEAST_BITS = 6;

    private Slots() { }

    /** Returns the bits of a slot of a table for a number of entries. */
    static int bits(int entries) {
        int bits = LEAST_BITS;
        while (filled(bits) < entries) {
            bits++;
        }
        return bits;
    }

    /** Returns the most entries of a table: five eighths of its slots, so that few are passed until one is free. */
    static int filled(int bits) {
        return (int) (5L << bits >>> 3);
    }
}
