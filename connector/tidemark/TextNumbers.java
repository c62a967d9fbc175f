package tidemark;

import java.util.Arrays;
import org.apache.spark.unsafe.Platform;
import org.apache.spark.unsafe.array.ByteArrayMethods;
import org.apache.spark.unsafe.types.UTF8String;

/** Numbers different texts from 1, in the order in which they come; 0 is null. A text may have any bytes. */
final class TextNumbers {
    private static final int FIRST_PAGE = 1 << 12;
    private static final int LARGEST_PAGE = 1 << 20;

    private final TaskMemory memory;
    private final Hashing hashing;
    /** The upper half is the hash of a text, the lower half its number; 0 is an empty slot. */
    private long[] slots;
    /** By number: the page of a text (upper half), and its start in the page. */
    private long[] places;
    private int[] lengths;
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
        for (int slot = hash >>> shift;; slot = slot + 1 & slots.length - 1) {
            long entry = slots[slot];
            if (entry == 0) {
                slots[slot] = (long) hash << 32 | size;
                return add(text);
            }
            if ((int) (entry >>> 32) == hash && isAt((int) entry, text)) {
                return (int) entry;
            }
        }
    }

    /** Returns the text with a number, null for 0. */
    UTF8String text(int number) {
        return number == 0 ? null : UTF8String.fromBytes(pages[(int) (places[number] >>> 32)], (int) places[number], lengths[number]);
    }

    private boolean isAt(int number, UTF8String text) {
        int length = lengths[number];
        long place = places[number];
        return length == text.numBytes() && ByteArrayMethods.arrayEquals(
            pages[(int) (place >>> 32)], Platform.BYTE_ARRAY_OFFSET + (int) place, text.getBaseObject(), text.getBaseOffset(), length);
    }

    private int add(UTF8String text) {
        int length = text.numBytes();
        if (page < 0 || length > pages[page].length - used) {
            addPage(length);
        }
        text.writeToMemory(pages[page], Platform.BYTE_ARRAY_OFFSET + used);
        places[size] = (long) page << 32 | used;
        lengths[size] = length;
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
        places = places == null ? new long[Slots.filled(bits)] : Arrays.copyOf(places, Slots.filled(bits));
        lengths = lengths == null ? new int[Slots.filled(bits)] : Arrays.copyOf(lengths, Slots.filled(bits));
    }

    private static long bytes(int bits) {
        return (8L << bits) + 12L * Slots.filled(bits);
    }
}
