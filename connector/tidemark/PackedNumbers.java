package tidemark;

import java.util.Arrays;

/**
 * Numbers the packed numbers of a task, and finds once for each which sets of keys count its records. A set does not
 * distinguish flags that its readers do not: for it several packed numbers are one.
 */
final class PackedNumbers {
    /** A set does not count these records. */
    static final int NOT_COUNTED = -1;

    private final FoldSpec spec;
    private final TaskMemory memory;
    private final int sets;
    private final LongNumbers numbers;
    private final LongNumbers ofSets;
    /** By number and set: the number of the packed number by which the set counts. */
    private int[] bySet;
    private boolean[] isGrouped;
    private int known;

    /** Makes room for a number of packed numbers. */
    PackedNumbers(FoldSpec spec, TaskMemory memory, Hashing hashing, int room) {
        this.spec = spec;
        this.memory = memory;
        sets = spec.sets().size();
        numbers = new LongNumbers(memory, hashing, room);
        ofSets = new LongNumbers(memory, hashing, room * sets);
        memory.take(bytes(room));
        isGrouped = new boolean[room];
        bySet = new int[room * sets];
    }

    /** Makes room for further numbers; returns whether there is memory for it. */
    boolean reserve(int more) {
        return numbers.reserve(more) && ofSets.reserve(more * sets) && reserveSets(known + more);
    }

    private boolean reserveSets(int room) {
        int length = isGrouped.length;
        if (room <= length) {
            return true;
        }
        if (!memory.grow(bytes(length), bytes(2 * length))) {
            return false;
        }
        isGrouped = Arrays.copyOf(isGrouped, 2 * length);
        bySet = Arrays.copyOf(bySet, 2 * length * sets);
        return true;
    }

    private long bytes(int room) {
        return room * (1 + 4L * sets);
    }

    int number(long packed) {
        int number = numbers.number(packed);
        if (number == known) {
            learn(packed);
        }
        return number;
    }

    /** Returns the packed number with this number. */
    long packed(int number) {
        return numbers.value(number);
    }

    /** Whether records with this number are in any group but that of the statistics. */
    boolean isGrouped(int number) {
        return isGrouped[number];
    }

    /** Returns the number for {@link #packedOfSet}, or {@link #NOT_COUNTED}. */
    int ofSet(int set, int number) {
        return bySet[number * sets + set];
    }

    /** Returns how many numbers {@link #packedOfSet} has. */
    int ofSetsCount() {
        return ofSets.size();
    }

    /** Returns the packed number of the groups of a set. */
    long packedOfSet(int number) {
        return ofSets.value(number);
    }

    private void learn(long packed) {
        boolean isCounted = spec.check(packed) <= spec.lastCounted();
        for (int index = 0; index < sets; index++) {
            KeySet set = spec.sets().get(index);
            long flags = spec.flags(packed);
            boolean isTaken = isCounted && set.takes(flags);
            bySet[known * sets + index] = isTaken ? ofSets.number(packed & ~(flags & ~set.flagMask())) : NOT_COUNTED;
            isGrouped[known] |= isTaken;
        }
        known++;
    }
}
