package tidemark;

import java.util.Arrays;
import org.apache.spark.unsafe.Platform;
import org.apache.spark.unsafe.array.ByteArrayMethods;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * Numbers different texts from 1, in the order in which they come; 0 is null. A text may have any bytes.
 *
 * <p>A look-up waits for memory more than it computes. So what is compared of a text is in one place: its length, its first
 * and its last eight bytes, which are all of a short text.
 */
final class TextNumbers {
    private static final int ENDS = 2 * Long.BYTES;
    // The cells of a text: its first and its last bytes, its length, and its page (upper half) and start in the page.
    private static final int LAST = 1;
    private static final int LENGTH = 2;
    private static final int PLACE = 3;
    private static final int CELLS = 4;
    private static final int FIRST_PAGE = 1 << 12;
    private static final int LARGEST_PAGE = 1 << 20;

    private final TaskMemory memory;
    private final Hashing hashing;
    /** The upper half is the hash of a text, the lower half its number; 0 is an empty slot. */
    private long[] slots;
    private long[] cells;
    private byte[][] pages = new byte[8][];
    private int page = -1;
    private int used;
    private int shift;
    private int size = 1;

    /** Makes room for a number of texts. */
    TextNumbers(TaskMemory memory, Hashing hashing, int texts) {
        this.memory = memory;
        this.hashing = hashing;
        int bits = Slots.bits(size + texts);
        memory.take(bytes(bits));
        allocate(bits);
    }

    /** Makes room for further texts, without their bytes; returns whether there is memory for it. */
    boolean reserve(int more) {
        int bits = Slots.bits(size + more);
        if (bits <= 32 - shift) {
            return true;
        }
        if (!memory.grow(bytes(32 - shift), bytes(bits))) {
            return false;
        }
        long[] old = slots;
        allocate(bits);
        for (long entry : old) {
            if (entry != 0) {
                int slot = (int) (entry >>> 32) >>> shift;
                while (slots[slot] != 0) {
                    slot = slot + 1 & slots.length - 1;
                }
                slots[slot] = entry;
            }
        }
        return true;
    }

    /** Returns the number of a text, whose bytes are copied if it is new; a new text needs room. */
    int number(UTF8String text) {
        int hash = hashing.of(text);
        int length = text.numBytes();
        long first = first(text, length);
        long last = length < Long.BYTES ? 0 : Platform.getLong(text.getBaseObject(), text.getBaseOffset() + length - Long.BYTES);
        for (int slot = hash >>> shift;; slot = slot + 1 & slots.length - 1) {
            long entry = slots[slot];
            if (entry == 0) {
                slots[slot] = (long) hash << 32 | size;
                return add(text, first, last, length);
            }
            if ((int) (entry >>> 32) == hash && isAt((int) entry * CELLS, text, first, last, length)) {
                return (int) entry;
            }
        }
    }

    /** Returns the text with a number, null for 0. */
    UTF8String text(int number) {
        int cell = number * CELLS;
        long place = cells[cell + PLACE];
        return number == 0 ? null : UTF8String.fromBytes(pages[(int) (place >>> 32)], (int) place, (int) cells[cell + LENGTH]);
    }

    /** Returns the first eight bytes of a text, or all of a shorter one. */
    private static long first(UTF8String text, int length) {
        if (length >= Long.BYTES) {
            return Platform.getLong(text.getBaseObject(), text.getBaseOffset());
        }
        long first = 0;
        for (int at = 0; at < length; at++) {
            first = first << Byte.SIZE | text.getByte(at) & 0xff;
        }
        return first;
    }

    private boolean isAt(int cell, UTF8String text, long first, long last, int length) {
        if (cells[cell] != first || cells[cell + LAST] != last || cells[cell + LENGTH] != length) {
            return false;
        }
        long place = cells[cell + PLACE];
        return length <= ENDS || ByteArrayMethods.arrayEquals(
            pages[(int) (place >>> 32)], Platform.BYTE_ARRAY_OFFSET + (int) place + Long.BYTES,
            text.getBaseObject(), text.getBaseOffset() + Long.BYTES, (long) length - ENDS);
    }

    private int add(UTF8String text, long first, long last, int length) {
        if (page < 0 || length > pages[page].length - used) {
            addPage(length);
        }
        text.writeToMemory(pages[page], Platform.BYTE_ARRAY_OFFSET + used);
        int cell = size * CELLS;
        cells[cell] = first;
        cells[cell + LAST] = last;
        cells[cell + LENGTH] = length;
        cells[cell + PLACE] = (long) page << 32 | used;
        used += length;
        return size++;
    }

    /** Pages double until they are large, so that few texts take little. */
    private void addPage(int length) {
        int bytes = Math.max(length, page < 0 ? FIRST_PAGE : Math.min(2 * pages[page].length, LARGEST_PAGE));
        if (!memory.take(bytes) && bytes > FIRST_PAGE) {
            memory.exceed();
        }
        pages = ++page < pages.length ? pages : Arrays.copyOf(pages, 2 * page);
        pages[page] = new byte[bytes];
        used = 0;
    }

    private void allocate(int bits) {
        shift = 32 - bits;
        slots = new long[1 << bits];
        int most = CELLS * Slots.filled(bits);
        cells = cells == null ? new long[most] : Arrays.copyOf(cells, most);
    }

    private static long bytes(int bits) {
        return (8L << bits) + (long) CELLS * Long.BYTES * Slots.filled(bits);
    }
}
