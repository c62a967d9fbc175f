package tidemark;

import java.util.List;

/**
 * The groups of one set of keys, by a number that stands for their keys: a hash table in one array, so that a group is
 * next to its key in the processor's cache.
 */
final class GroupTable {
    /** A table of more longs is not made: its groups are given. */
    private static final int MOST_CELLS = 1 << 28;
    // The cells of a group: its key, its records (0 in an empty slot), and its aggregates: a number, or the number of a
    // text (0 without one) and its time.
    private static final int RECORDS = 1;
    private static final int AGGREGATES = 2;

    private final TaskMemory memory;
    private final Hashing hashing;
    private final List<Aggregate.Join> joins;
    /** By aggregate: its cell. */
    private final int[] offsets;
    private final int stride;
    private long[] cells;
    private int shift;
    private int mask;
    private int size;

    /** Makes room for a number of groups. */
    GroupTable(TaskMemory memory, Hashing hashing, List<Aggregate.Join> joins, int groups) {
        this.memory = memory;
        this.hashing = hashing;
        this.joins = joins;
        offsets = new int[joins.size()];
        int end = AGGREGATES;
        for (int aggregate = 0; aggregate < offsets.length; aggregate++) {
            offsets[aggregate] = end;
            end += joins.get(aggregate).isOfText() ? 2 : 1;
        }
        stride = end;
        int bits = Slots.bits(groups);
        memory.take(bytes(bits));
        allocate(bits);
    }

    /** Makes room for further groups; returns whether there is memory for it. */
    boolean reserve(int more) {
        int bits = Slots.bits(size + more);
        if (bits <= 64 - shift) {
            return true;
        }
        if (((long) stride << bits) > MOST_CELLS || !memory.grow(bytes(64 - shift), bytes(bits))) {
            return false;
        }
        long[] old = cells;
        allocate(bits);
        for (int place = 0; place < old.length; place += stride) {
            if (old[place + RECORDS] != 0) {
                System.arraycopy(old, place, cells, find(old[place]), stride);
            }
        }
        return true;
    }

    /** Counts a record for each of the first {@code count} keys, and puts the places of their groups; new groups need room. */
    void count(long[] keys, int count, int[] places) {
        for (int index = 0; index < count; index++) {
            int place = find(keys[index]);
            if (cells[place + RECORDS]++ == 0) {
                add(place, keys[index]);
            }
            places[index] = place;
        }
    }

    /** Joins a value to an aggregate of each of the first {@code count} groups: that of the row in {@code rows}. */
    void join(int aggregate, long[] values, int[] rows, int count, int[] places) {
        int offset = offsets[aggregate];
        switch (joins.get(aggregate)) {
            case SUM -> {
                for (int index = 0; index < count; index++) {
                    cells[places[index] + offset] += values[rows[index]];
                }
            }
            case MIN -> {
                for (int index = 0; index < count; index++) {
                    int place = places[index] + offset;
                    cells[place] = Math.min(cells[place], values[rows[index]]);
                }
            }
            case MAX -> {
                for (int index = 0; index < count; index++) {
                    int place = places[index] + offset;
                    cells[place] = Math.max(cells[place], values[rows[index]]);
                }
            }
            default -> throw new IllegalStateException();
        }
    }

    /** Joins the text with a number, 0 for none, like {@link #join}; {@code texts} has given the numbers. */
    void joinTexts(int aggregate, long[] numbers, long[] times, int[] rows, int count, int[] places, TextNumbers texts) {
        Aggregate.Join join = joins.get(aggregate);
        for (int index = 0; index < count; index++) {
            long number = numbers[rows[index]];
            long time = times[rows[index]];
            int place = places[index] + offsets[aggregate];
            if (join.replaces(number, time, cells[place], cells[place + 1], texts)) {
                cells[place] = number;
                cells[place + 1] = time;
            }
        }
    }

    int size() {
        return size;
    }

    /** Returns the place of the first group after a place (-1 for the first of all), or -1. */
    int next(int place) {
        for (int next = place < 0 ? 0 : place + stride; next < cells.length; next += stride) {
            if (cells[next + RECORDS] != 0) {
                return next;
            }
        }
        return -1;
    }

    long key(int place) {
        return cells[place];
    }

    long records(int place) {
        return cells[place + RECORDS];
    }

    /** Returns a joined number, or the number of a text. */
    long aggregate(int place, int aggregate) {
        return cells[place + offsets[aggregate]];
    }

    /** Returns the time of a text. */
    long time(int place, int aggregate) {
        return cells[place + offsets[aggregate] + 1];
    }

    private int find(long key) {
        int slot = hashing.slot(key, shift);
        int place = slot * stride;
        while (cells[place + RECORDS] != 0 && cells[place] != key) {
            slot = slot + 1 & mask;
            place = slot * stride;
        }
        return place;
    }

    private void add(int place, long key) {
        size++;
        cells[place] = key;
        for (int aggregate = 0; aggregate < offsets.length; aggregate++) {
            cells[place + offsets[aggregate]] = joins.get(aggregate).neutral;
        }
    }

    private void allocate(int bits) {
        shift = 64 - bits;
        mask = (1 << bits) - 1;
        cells = new long[stride << bits];
    }

    private long bytes(int bits) {
        return 8L * stride << bits;
    }
}
