package tidemark;

import java.util.Arrays;
import java.util.Iterator;
import java.util.stream.IntStream;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.StructType;

/**
 * The rows of an output: groups of its set that differ in no key, pane or flag of the output are joined, many at a time.
 * A row is valid until the next one.
 */
final class JoinedRows implements Iterator<InternalRow> {
    private static final int NOT_TAKEN = -1;
    private static final int UNKNOWN = -2;

    private final TaskGroups groups;
    private final FoldSpec spec;
    private final Output output;
    private final GroupTable table;
    private final FoldedRow row;
    /** By key of the output, and by sketch: its place among the keys of the set. */
    private final int[] keys;
    private final int[] sketched;
    /** By aggregate of the output: its place among those of the set. */
    private final int[] aggregates;
    /** By number of the packed number of a group: that of its row, {@link #NOT_TAKEN} or {@link #UNKNOWN}. */
    private final int[] numbers;
    private final LongNumbers packed;
    private final LongNumbers[] combinations;
    private final LongNumbers rows;

    // The groups that are joined at a time: place in the table, and the group before it in the same row.
    private final int[] places;
    private final int[] before;
    /** By row: its last group. */
    private final int[] last;
    private int count;
    private int given;
    private int place;

    private final long[] values;
    private final long[] times;

    JoinedRows(TaskGroups groups, FoldSpec spec, StructType folded, int index) {
        this.groups = groups;
        this.spec = spec;
        output = spec.outputs().get(index);
        table = groups.table(output.set());
        row = new FoldedRow(spec, folded, index);
        KeySet set = spec.sets().get(output.set());
        keys = placesIn(set.keys(), output.keys());
        sketched = placesIn(set.keys(), output.sketched());
        aggregates = placesIn(set.aggregates(), output.aggregates());
        numbers = new int[groups.packed().ofSetsCount()];
        Arrays.fill(numbers, UNKNOWN);
        int room = Math.min(spec.limits().joined(), table.size());
        packed = groups.newNumbers(numbers.length);
        combinations = new LongNumbers[Math.max(0, keys.length - 1)];
        Arrays.setAll(combinations, key -> groups.newNumbers(room));
        rows = groups.newNumbers(room);
        places = new int[room];
        before = new int[room];
        last = new int[room];
        values = new long[aggregates.length];
        times = new long[aggregates.length];
        place = table.next(-1);
    }

    private static int[] placesIn(int[] all, int[] some) {
        return Arrays.stream(some).map(each -> IntStream.range(0, all.length).filter(at -> all[at] == each).findFirst().orElseThrow()).toArray();
    }

    @Override
    public boolean hasNext() {
        while (given == count && place >= 0) {
            joinNext();
        }
        return given < count;
    }

    @Override
    public InternalRow next() {
        int group = last[given];
        row.put(packed.value((int) (rows.value(given++) >>> 32)), records(group));
        int[] codes = groups.codes(output.set(), (int) table.key(places[group]));
        for (int index = 0; index < keys.length; index++) {
            row.putKey(output.keys()[index], groups.text(output.keys()[index], codes[keys[index]]));
        }
        putAggregates(group);
        if (sketched.length > 0) {
            putSketches(group);
        }
        return row.row();
    }

    /** Finds the rows of the next groups. */
    private void joinNext() {
        rows.clear();
        for (LongNumbers each : combinations) {
            each.clear();
        }
        count = 0;
        given = 0;
        for (int group = 0; group < places.length && place >= 0; place = table.next(place)) {
            int number = packedNumber((int) (table.key(place) >>> 32));
            if (number == NOT_TAKEN) {
                continue;
            }
            int at = rows.number((long) number << 32 | code((int) table.key(place)));
            before[group] = at == count ? -1 : last[at];
            count = Math.max(count, at + 1);
            last[at] = group;
            places[group++] = place;
        }
    }

    /** Returns the number of the packed number of a row, or {@link #NOT_TAKEN}. */
    private int packedNumber(int ofGroup) {
        if (numbers[ofGroup] == UNKNOWN) {
            long value = groups.packed().packedOfSet(ofGroup);
            long flags = spec.flags(value);
            boolean isTaken = output.takes(flags);
            numbers[ofGroup] = isTaken ? packed.number(output.panes().first(value & ~(flags & ~output.flagMask()))) : NOT_TAKEN;
        }
        return numbers[ofGroup];
    }

    /** Returns what stands for the keys of a row, given what stands for those of a group. */
    private int code(int ofGroup) {
        if (keys.length == 0) {
            return 0;
        }
        int[] codes = groups.codes(output.set(), ofGroup);
        int code = codes[keys[0]];
        for (int index = 1; index < keys.length; index++) {
            code = combinations[index - 1].number((long) code << 32 | codes[keys[index]]);
        }
        return code;
    }

    private long records(int last) {
        long records = 0;
        for (int group = last; group >= 0; group = before[group]) {
            records += table.records(places[group]);
        }
        return records;
    }

    private void putAggregates(int last) {
        for (int index = 0; index < aggregates.length; index++) {
            int aggregate = output.aggregates()[index];
            Aggregate.Join join = spec.aggregates().get(aggregate).join();
            TextNumbers texts = groups.valueTexts(aggregate);
            long value = join.neutral;
            long time = 0;
            for (int group = last; group >= 0; group = before[group]) {
                long other = table.aggregate(places[group], aggregates[index]);
                if (!join.isOfText()) {
                    value = join.of(value, other);
                } else if (join.replaces(other, table.time(places[group], aggregates[index]), value, time, texts)) {
                    value = other;
                    time = table.time(places[group], aggregates[index]);
                }
            }
            if (join.isOfText()) {
                row.putText(aggregate, texts.text((int) value), time);
            } else {
                row.putAggregate(aggregate, value);
            }
        }
    }

    private void putSketches(int last) {
        Sketch[] sketches = new Sketch[sketched.length];
        Arrays.setAll(sketches, index -> new Sketch());
        for (int group = last; group >= 0; group = before[group]) {
            int[] codes = groups.codes(output.set(), (int) table.key(places[group]));
            for (int index = 0; index < sketched.length; index++) {
                sketches[index].add(groups.text(output.sketched()[index], codes[sketched[index]]));
            }
        }
        for (int index = 0; index < sketched.length; index++) {
            row.putSketch(output.sketched()[index], sketches[index]);
        }
    }
}
