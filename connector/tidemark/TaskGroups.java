package tidemark;

import java.util.Arrays;
import java.util.Iterator;
import java.util.List;
import java.util.Objects;
import java.util.stream.IntStream;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * The groups of a task's records, with the dictionaries of their keys.
 *
 * <p>Records are collected in blocks. A full block is counted set by set, column by column, so the processor waits for the
 * memory of many groups at once. Room for the next block is made between blocks, so no table grows while it is used.
 */
final class TaskGroups {
    private final FoldSpec spec;
    private final TaskMemory memory;
    private final Hashing hashing;
    private final int block;
    private final PackedNumbers packed;
    /** By key; null for the position of a record. */
    private final TextNumbers[] texts;
    /** By set, and by key after the first: the numbers of the combinations with the keys before it. */
    private final LongNumbers[][] combinations;
    /** By set: room for {@link #codes}. */
    private final int[][] keyCodes;
    /** By set; null for sets of events. */
    private final GroupTable[] tables;
    private final LongNumbers ages;
    private final GroupTable statistics;
    /** By aggregate: the column of its values, what it reads in place of a null, and for a text the numbers of its values. */
    private final int[] ordinals;
    private final long[] neutrals;
    private final TextNumbers[] valueTexts;
    private final boolean hasValueTexts;
    /** The aggregates that read values; others have the same texts as one of them. */
    private final int[] reading;

    // The records of the block: what stands for the parts of their keys, and the values that aggregates read.
    private int size;
    private final int[] numbers;
    private final int[] ageNumbers;
    private final long[] moving;
    private final int[][] codes;
    private final long[][] values;
    private final long[] times;

    // The records of the block that a set counts: key, row of the block, and place of the group.
    private final long[] groupKeys;
    private final int[] rows;
    private final int[] places;

    TaskGroups(FoldSpec spec, StructType judged, TaskMemory memory) {
        this.spec = spec;
        block = spec.limits().block();
        this.memory = memory;
        hashing = new Hashing(spec.limits().hashMask());
        int sets = spec.sets().size();
        packed = new PackedNumbers(spec, memory, hashing, block);
        texts = new TextNumbers[spec.keys()];
        boolean[] areTexts = spec.areTexts(judged);
        for (int key = 0; key < texts.length; key++) {
            texts[key] = areTexts[key] ? new TextNumbers(memory, hashing, block) : null;
        }
        combinations = new LongNumbers[sets][];
        keyCodes = new int[sets][];
        tables = new GroupTable[sets];
        for (int index = 0; index < sets; index++) {
            KeySet set = spec.sets().get(index);
            keyCodes[index] = new int[set.keys().length];
            combinations[index] = new LongNumbers[set.isOfEvents() ? 0 : Math.max(0, set.keys().length - 1)];
            Arrays.setAll(combinations[index], key -> new LongNumbers(memory, hashing, block));
            List<Aggregate.Join> joins = Arrays.stream(set.aggregates()).mapToObj(each -> spec.aggregates().get(each).join()).toList();
            tables[index] = set.isOfEvents() ? null : new GroupTable(memory, hashing, joins, block);
        }
        ages = new LongNumbers(memory, hashing, block);
        statistics = new GroupTable(memory, hashing, List.of(Aggregate.Join.MAX), block);
        numbers = new int[block];
        ageNumbers = new int[block];
        moving = new long[block];
        codes = new int[texts.length][block];
        values = new long[spec.aggregates().size()][];
        ordinals = IntStream.range(0, values.length).map(spec::inputOrdinal).toArray();
        neutrals = spec.aggregates().stream().mapToLong(aggregate -> aggregate.join().neutral).toArray();
        valueTexts = new TextNumbers[values.length];
        for (int aggregate = 0; aggregate < values.length; aggregate++) {
            boolean isOfText = spec.aggregates().get(aggregate).join().isOfText();
            int same = spec.readBy(aggregate);
            values[aggregate] = same < aggregate ? values[same] : new long[block];
            valueTexts[aggregate] = same < aggregate ? valueTexts[same] : isOfText ? new TextNumbers(memory, hashing, block) : null;
        }
        hasValueTexts = Arrays.stream(valueTexts).anyMatch(Objects::nonNull);
        reading = IntStream.range(0, values.length).filter(aggregate -> spec.readBy(aggregate) == aggregate).toArray();
        times = new long[block];
        groupKeys = new long[block];
        rows = new int[block];
        places = new int[block];
    }

    /** Adds a record to the block; returns what stands for its packed number. */
    int add(InternalRow row) {
        int at = size++;
        int number = packed.number(row.getLong(FoldSpec.PACKED));
        long age = Ages.of(row);
        numbers[at] = number;
        ageNumbers[at] = ages.number(age);
        moving[at] = row.isNullAt(FoldSpec.MOVING) ? Aggregate.Join.MAX.neutral : row.getLong(FoldSpec.MOVING);
        if (packed.isGrouped(number)) {
            for (int key = 0; key < texts.length; key++) {
                int ordinal = FoldSpec.KEYS + key;
                codes[key][at] = texts[key] == null || row.isNullAt(ordinal) ? 0 : texts[key].number(row.getUTF8String(ordinal));
            }
            for (int aggregate : reading) {
                values[aggregate][at] = value(aggregate, row);
            }
            times[at] = hasValueTexts ? row.getLong(spec.timeOrdinal()) : 0;
        }
        return number;
    }

    /** Returns what an aggregate joins of a record: a number, or the number of a text. */
    private long value(int aggregate, InternalRow row) {
        int ordinal = ordinals[aggregate];
        if (row.isNullAt(ordinal)) {
            return neutrals[aggregate];
        }
        return valueTexts[aggregate] == null ? row.getLong(ordinal) : valueTexts[aggregate].number(row.getUTF8String(ordinal));
    }

    PackedNumbers packed() {
        return packed;
    }

    boolean isBlockFull() {
        return size == block;
    }

    /** Counts the records of the block. */
    void countBlock() {
        for (int row = 0; row < size; row++) {
            groupKeys[row] = key(numbers[row], ageNumbers[row]);
            rows[row] = row;
        }
        statistics.count(groupKeys, size, places);
        statistics.join(0, moving, rows, size, places);
        for (int set = 0; set < tables.length; set++) {
            if (tables[set] != null) {
                count(set);
            }
        }
        size = 0;
    }

    private void count(int set) {
        int[] own = spec.sets().get(set).keys();
        int counted = 0;
        for (int row = 0; row < size; row++) {
            int number = packed.ofSet(set, numbers[row]);
            if (number != PackedNumbers.NOT_COUNTED) {
                groupKeys[counted] = key(number, own.length == 0 ? 0 : code(set, own, row));
                rows[counted++] = row;
            }
        }
        tables[set].count(groupKeys, counted, places);
        int[] aggregates = spec.sets().get(set).aggregates();
        for (int index = 0; index < aggregates.length; index++) {
            int aggregate = aggregates[index];
            if (valueTexts[aggregate] == null) {
                tables[set].join(index, values[aggregate], rows, counted, places);
            } else {
                tables[set].joinTexts(index, values[aggregate], times, rows, counted, places, valueTexts[aggregate]);
            }
        }
    }

    private int code(int set, int[] own, int row) {
        int code = codes[own[0]][row];
        for (int index = 1; index < own.length; index++) {
            code = combinations[set][index - 1].number(key(code, codes[own[index]][row]));
        }
        return code;
    }

    /** Makes room for another block; returns whether there is memory for it. */
    boolean reserveBlock() {
        boolean hasRoom = packed.reserve(block) && ages.reserve(block) && statistics.reserve(block);
        for (int key = 0; hasRoom && key < texts.length; key++) {
            hasRoom = texts[key] == null || texts[key].reserve(block);
        }
        for (int aggregate = 0; hasRoom && aggregate < values.length; aggregate++) {
            hasRoom = valueTexts[aggregate] == null || valueTexts[aggregate].reserve(block);
        }
        for (int set = 0; hasRoom && set < tables.length; set++) {
            for (int index = 0; hasRoom && index < combinations[set].length; index++) {
                hasRoom = combinations[set][index].reserve(block);
            }
            hasRoom = hasRoom && (tables[set] == null || tables[set].reserve(block));
        }
        return hasRoom;
    }

    /** Gives all groups, and the statistics, as rows with the columns of {@code folded}, each valid until the next. */
    Iterator<InternalRow> rows(StructType folded) {
        return new GroupRows(this, spec, folded);
    }

    /** Returns the table of a set, null for a set of events; that of the statistics after the last set. */
    GroupTable table(int set) {
        return set < tables.length ? tables[set] : statistics;
    }

    /** Returns by key of a set what stands for its texts in a group; valid until the next call for the set. */
    int[] codes(int set, int code) {
        int[] found = keyCodes[set];
        int rest = code;
        for (int index = found.length - 1; index > 0; index--) {
            long pair = combinations[set][index - 1].value(rest);
            found[index] = (int) pair;
            rest = (int) (pair >>> 32);
        }
        if (found.length > 0) {
            found[0] = rest;
        }
        return found;
    }

    /** Returns a text of a key; null for 0. */
    UTF8String text(int key, int code) {
        return texts[key].text(code);
    }

    /** Puts an aggregate of a group, which is one of its table's. */
    void put(int aggregate, GroupTable table, int place, int ofTable, FoldedRow row) {
        long value = table.aggregate(place, ofTable);
        if (valueTexts[aggregate] == null) {
            row.putAggregate(aggregate, value);
        } else {
            row.putText(aggregate, valueTexts[aggregate].text((int) value), table.time(place, ofTable));
        }
    }

    /** Makes room for a number of longs. */
    LongNumbers newNumbers(int room) {
        return new LongNumbers(memory, hashing, room);
    }

    /** Returns the numbers of the texts of an aggregate; null for one of numbers. */
    TextNumbers valueTexts(int aggregate) {
        return valueTexts[aggregate];
    }

    long age(int number) {
        return ages.value(number);
    }

    private static long key(int upper, int lower) {
        return (long) upper << 32 | lower;
    }
}
