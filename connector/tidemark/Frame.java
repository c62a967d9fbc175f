package tidemark;

/** The frame of a schema registry before a value: byte 0, and a schema's id of four or eight bytes. */
final class Frame {
    private static final int BYTES = 5;
    private static final int LONG_BYTES = 9;

    private Frame() { }

    /**
     * Returns where the value begins after a frame; a negative number if there is no frame. No registry has an id 0, so
     * four zeros begin an id of eight bytes, where there may be any.
     */
    static int end(byte[] array, int from, int to, boolean mayBeLong) {
        if (to - from < BYTES || array[from] != 0) {
            return -1;
        }
        boolean isLong = mayBeLong && to - from >= LONG_BYTES && number(array, from + 1) == 0;
        return from + (isLong ? LONG_BYTES : BYTES);
    }

    /** Returns the id in the last four bytes of the frame that ends at {@code end}. */
    static int id(byte[] array, int end) {
        return number(array, end - Integer.BYTES);
    }

    private static int number(byte[] array, int at) {
        return (array[at] & 255) << 24 | (array[at + 1] & 255) << 16 | (array[at + 2] & 255) << 8 | array[at + 3] & 255;
    }
}
