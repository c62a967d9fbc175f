package tidemark;

import java.util.UUID;

/**
 * The frame of a schema registry before a value: byte 0 and a schema's id of four or eight bytes, or byte 1 and a GUID of
 * 16. An id is the lower half of a GUID whose upper half is 0, which no registry gives.
 */
final class Frame {
    private static final int BYTES = 5;
    private static final int LONG_BYTES = 9;
    static final int GUID_BYTES = 17;

    private Frame() { }

    /**
     * Returns where the value begins after a frame; a negative number if there is no frame. No registry has an id 0, so
     * four zeros begin an id of eight bytes, where there may be any.
     */
    static int end(byte[] array, int from, int to, boolean mayBeLong) {
        int size = to - from;
        if (size >= GUID_BYTES && array[from] == 1) {
            return from + GUID_BYTES;
        }
        if (size < BYTES || array[from] != 0) {
            return -1;
        }
        boolean isLong = mayBeLong && size >= LONG_BYTES && number(array, from + 1) == 0;
        return from + (isLong ? LONG_BYTES : BYTES);
    }

    /** Returns the upper half of the GUID in a frame, 0 for an id. */
    static long high(byte[] array, int from, int end) {
        return end - from == GUID_BYTES ? number(array, end - 2 * Long.BYTES) << Integer.SIZE | number(array, end - 3 * Integer.BYTES) : 0;
    }

    /** Returns the lower half of the GUID in a frame, or the id. */
    static long low(byte[] array, int from, int end) {
        long last = number(array, end - Integer.BYTES);
        return end - from == BYTES ? last : number(array, end - Long.BYTES) << Integer.SIZE | last;
    }

    /** Returns an id as decimal text, or a GUID, by its halves. */
    static UUID key(String id) {
        return id.indexOf('-') < 0 ? new UUID(0, Long.parseLong(id)) : UUID.fromString(id);
    }

    /** Returns four bytes as a number without a sign. */
    private static long number(byte[] array, int at) {
        return (array[at] & 255L) << 24 | (array[at + 1] & 255) << 16 | (array[at + 2] & 255) << 8 | array[at + 3] & 255;
    }
}
