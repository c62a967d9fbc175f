package tidemark;

import java.util.Arrays;

/** Numbers different longs from 0, in the order in which they come. */
final class LongNumbers {
    private final TaskMemory memory;
    private final Hashing hashing;
    /** The number at a slot plus 1; 0 is an empty slot. */
    private int[] slots;
    private long[] values;
    private int shift;
    private int size;
    private long last;
    private int lastNumber = -1;

    /** Makes room for a number of values. */
    LongNumbers(TaskMemory memory, Hashing hashing, int values) {
        this.memory = memory;
        this.hashing = hashing;
        int bits = Slots.bits(values);
        memory.take(bytes(bits));
        allocate(bits);
    }

    /** Makes room for further values; returns whether there is memory for it. */
    boolean reserve(int more) {
        int bits = Slots.bits(size + more);
        if (bits <= 64 - shift) {
            return true;
        }
        if (!memory.grow(bytes(64 - shift), bytes(bits))) {
            return false;
        }
        allocate(bits);
        for (int number = 0; number < size; number++) {
            slots[free(values[number])] = number + 1;
        }
        return true;
    }

    /** Returns the number of a value; a new value needs room. */
    int number(long value) {
        if (value != last || lastNumber < 0) {
            last = value;
            lastNumber = find(value);
        }
        return lastNumber;
    }

    int size() {
        return size;
    }

    /** Forgets all values, and keeps the room for them. */
    void clear() {
        Arrays.fill(slots, 0);
        size = 0;
        lastNumber = -1;
    }

    long value(int number) {
        return values[number];
    }

    private int find(long value) {
        for (int slot = hashing.slot(value, shift);; slot = slot + 1 & slots.length - 1) {
            int number = slots[slot] - 1;
            if (number < 0) {
                values[size] = value;
                slots[slot] = ++size;
                return size - 1;
            }
            if (values[number] == value) {
                return number;
            }
        }
    }

    private int free(long value) {
        int slot = hashing.slot(value, shift);
        while (slots[slot] != 0) {
            slot = slot + 1 & slots.length - 1;
        }
        return slot;
    }

    private void allocate(int bits) {
        shift = 64 - bits;
        slots = new int[1 << bits];
        values = values == null ? new long[Slots.filled(bits)] : Arrays.copyOf(values, Slots.filled(bits));
    }

    private static long bytes(int bits) {
        return (4L << bits) + 8L * Slots.filled(bits);
    }
}
