package tidemark;

import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;
import org.apache.avro.Schema;

/** Makes the steps of a writer's schema, of which fields inside of records are columns of their own. */
final class RecordSteps {
    /** A column and the positions of its field: of the records around it, and its own. */
    private record Leaf(List<Integer> path, Schema reader, ColumnWriter column) { }

    private final ReadSteps reading;

    private RecordSteps(String id) {
        reading = new ReadSteps(id);
    }

    /** Returns the steps of a schema with this id; the columns have these targets. */
    static Step[] steps(String id, Schema writer, List<EventColumns.Column> columns, ColumnWriter[] targets) {
        List<Step> steps = new ArrayList<>();
        List<Leaf> leaves = new ArrayList<>();
        for (int index = 0; index < targets.length; index++) {
            ColumnWriter target = targets[index];
            EventColumns.Column column = columns.get(index);
            List<Integer> path = column.positions().get(id);
            if (path != null) {
                leaves.add(new Leaf(path, column.reader(), target));
            } else if (column.positions().isEmpty()) {
                steps.add((in, row) -> target.values().putBoolean(row, true));
            } else {
                steps.add((in, row) -> target.putNull(row));
            }
        }
        steps.addAll(new RecordSteps(id).fields(writer, leaves, 0));
        return steps.toArray(Step[]::new);
    }

    /** Returns the steps of a record; {@code depth} records are around it. */
    private List<Step> fields(Schema writer, List<Leaf> inside, int depth) {
        List<Step> steps = reading.skipped(writer);
        inside.stream().collect(Collectors.groupingBy(leaf -> leaf.path().get(depth))).forEach((position, leaves) ->
            steps.set(position, field(writer.getFields().get(position).schema(), leaves, depth + 1)));
        return steps;
    }

    /** Returns the step of a field that is a column, or a record or null with columns inside of it. */
    private Step field(Schema writer, List<Leaf> leaves, int depth) {
        if (leaves.get(0).path().size() == depth) {
            return reading.of(writer, leaves.get(0).reader(), leaves.get(0).column());
        }
        Step[] steps = (switch (writer.getType()) {
            case UNION -> writer.getTypes().stream().map(branch -> field(branch, leaves, depth));
            case NULL -> leaves.stream().<Step>map(leaf -> (in, row) -> leaf.column().putNull(row));
            default -> fields(writer, leaves, depth).stream();
        }).toArray(Step[]::new);
        if (writer.getType() == Schema.Type.UNION) {
            return (in, row) -> steps[SkipSteps.index(in, steps.length)].run(in, row);
        }
        return (in, row) -> {
            for (Step step : steps) {
                step.run(in, row);
            }
        };
    }
}
