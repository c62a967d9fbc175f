package tidemark;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.Serializable;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.stream.IntStream;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/**
 * What a fold computes, as Python writes it: see {@code pipeline/fold/grouped_records.py}.
 *
 * @param keys the number of keys
 * @param outputs what is given of the sets' groups; an index of this list is the grouping of its rows
 * @param sketched the keys of whose values any output has sketches
 * @param flagBits the number of flags, the lowest bits of a packed number
 * @param checks the number of checks, the next digit of a packed number
 * @param lastCounted the last check with which a record counts
 * @param limits sizes that only tests change
 * @param arrival how records are found that may be late when they arrive; null if batches decide what is late
 */
record FoldSpec(int keys, List<KeySet> sets, List<Output> outputs, int[] sketched, List<Aggregate> aggregates, int flagBits, int checks, int lastCounted, Limits limits, ArrivalSpec arrival)
    implements Serializable {

    // The columns of a judged record. The keys follow, which are texts, or the position of the record, and what aggregates read;
    // by arrival then the partition, the Kafka timestamp, and the time.
    static final int PACKED = 0;
    static final int REJECTED = 1;
    static final int MOVING = 2;
    static final int AGE = 3;
    static final int KEYS = 4;
    // The columns of a folded row. The keys follow, the records, the aggregates, the sketches, the latest moving time, and the age;
    // by arrival then the step, if the row is of one record, and the time, if this may be late.
    static final int GROUPING = 0;
    static final int FOLDED_PACKED = 1;
    static final int FOLDED_REJECTED = 2;
    static final int FOLDED_KEYS = 3;
    /** The grouping of the statistics: all records by packed number and age. */
    static final int STATISTICS = -1;
    /** The grouping of the fields of a rejected record. */
    static final int REJECTED_RECORD = -2;
    /** The grouping of rises: see {@link ArrivalRows}. */
    static final int RISE = -3;

    /**
     * Sizes that do not change a result.
     *
     * @param block the records that are counted together
     * @param joined the groups that are joined together
     * @param bytes the most memory of a task
     * @param hashMask see {@link Hashing}
     */
    record Limits(int block, int joined, long bytes, long hashMask) implements Serializable { }

    static FoldSpec of(String json) {
        JsonNode node = ValueDecoder.parse(json);
        List<Aggregate> aggregates = new ArrayList<>();
        for (JsonNode each : node.get("aggregates")) {
            Aggregate.Join join = Aggregate.Join.valueOf(each.get("join").asText().toUpperCase(Locale.ROOT));
            aggregates.add(new Aggregate(each.get("name").asText(), join, each.get("input").asInt()));
        }
        List<Output> outputs = new ArrayList<>();
        node.get("outputs").forEach(each -> outputs.add(output(each, node.get("panes"))));
        int[] sketched = outputs.stream().flatMapToInt(output -> IntStream.of(output.sketched())).sorted().distinct().toArray();
        List<KeySet> sets = new ArrayList<>();
        for (JsonNode each : node.get("sets")) {
            int index = sets.size();
            List<Output> own = outputs.stream().filter(output -> output.set() == index).toList();
            sets.add(KeySet.of(ints(each.get("keys")), each.get("of_events").asBoolean(), own));
        }
        JsonNode limits = node.path("limits");
        return new FoldSpec(
            node.get("keys").asInt(), sets, outputs, sketched, aggregates, node.get("flag_bits").asInt(), node.get("checks").asInt(),
            node.get("last_counted").asInt(),
            new Limits(
                limits.path("block").asInt(256), limits.path("joined").asInt(1 << 17), limits.path("bytes").asLong(Long.MAX_VALUE),
                limits.path("hash_mask").asLong(-1)),
            ArrivalSpec.of(node.path("arrival")));
    }

    private static Output output(JsonNode node, JsonNode panes) {
        List<Output.Reader> readers = new ArrayList<>();
        node.get("readers").forEach(each -> readers.add(new Output.Reader(each.get("wanted").asLong(), each.get("barred").asLong())));
        Output.Panes own = new Output.Panes(
            panes.get("radix").asLong(), panes.get("ms").asLong(), panes.get("shift_ms").asLong(),
            node.get("pane_ms").asLong(), node.get("shift_ms").asLong());
        return new Output(
            node.get("set").asInt(), ints(node.get("keys")), ints(node.get("sketched")), node.get("flag_mask").asLong(), readers,
            ints(node.get("aggregates")), own);
    }

    private static int[] ints(JsonNode node) {
        int[] values = new int[node.size()];
        Arrays.setAll(values, index -> node.get(index).asInt());
        return values;
    }

    /** Returns the columns of a folded row, given those of a judged record. */
    StructType schema(StructType judged) {
        StructType schema = new StructType()
            .add("grouping", DataTypes.IntegerType, false)
            .add(judged.fields()[PACKED].name(), DataTypes.LongType, false)
            .add(judged.fields()[REJECTED]);
        for (int key = 0; key < keys; key++) {
            schema = schema.add(judged.fields()[KEYS + key].name(), judged.fields()[KEYS + key].dataType());
        }
        schema = schema.add("records", DataTypes.LongType, false);
        for (Aggregate aggregate : aggregates) {
            schema = schema.add(aggregate.name(), aggregate.join().isOfText() ? DataTypes.StringType : DataTypes.LongType);
        }
        for (int key : sketched) {
            schema = schema.add("sketch of " + judged.fields()[KEYS + key].name(), DataTypes.BinaryType);
        }
        schema = schema.add("max_event_time", DataTypes.LongType).add("age_ms", DataTypes.LongType);
        return arrival == null ? schema : schema.add("step", DataTypes.LongType).add("time", DataTypes.LongType);
    }

    /** Returns by key whether judged records have a text, and not the position of the record. */
    boolean[] areTexts(StructType judged) {
        boolean[] areTexts = new boolean[keys];
        for (int key = 0; key < keys; key++) {
            areTexts[key] = judged.fields()[KEYS + key].dataType().equals(DataTypes.StringType);
        }
        return areTexts;
    }

    /** Returns the check in a packed number. */
    long check(long packed) {
        return (packed >> flagBits) % checks;
    }

    /** Returns the flags in a packed number. */
    long flags(long packed) {
        return packed & (1L << flagBits) - 1;
    }

    int inputOrdinal(int aggregate) {
        return KEYS + keys + aggregates.get(aggregate).input();
    }

    /** Returns the first aggregate that reads the same text, or the aggregate itself. */
    int readBy(int aggregate) {
        Aggregate own = aggregates.get(aggregate);
        return IntStream.range(0, own.join().isOfText() ? aggregate : 0)
            .filter(other -> aggregates.get(other).join().isOfText() && aggregates.get(other).input() == own.input())
            .findFirst().orElse(aggregate);
    }

    /** The column of a record's time, if any aggregate is of texts: the first that aggregates read. */
    int timeOrdinal() {
        return KEYS + keys;
    }

    int recordsOrdinal() {
        return FOLDED_KEYS + keys;
    }

    int aggregateOrdinal(int aggregate) {
        return FOLDED_KEYS + keys + 1 + aggregate;
    }

    int sketchOrdinal(int key) {
        return aggregateOrdinal(aggregates.size()) + Arrays.binarySearch(sketched, key);
    }

    int maxEventTimeOrdinal() {
        return aggregateOrdinal(aggregates.size()) + sketched.length;
    }

    int ageOrdinal() {
        return maxEventTimeOrdinal() + 1;
    }

    int stepOrdinal() {
        return ageOrdinal() + 1;
    }
}
