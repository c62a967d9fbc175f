package tidemark;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.apache.avro.Schema;
import org.apache.avro.Schema.Type;

/** Makes the steps of a record of which fields inside of records are columns of their own. */
final class Flat {
    private final Map<List<String>, Target> columns;
    private final Reading reading = new Reading();
    private final Skipping skipping = new Skipping();

    Flat(List<EventColumns.Column> wanted, Target[] targets) {
        columns = IntStream.range(0, targets.length).boxed()
            .collect(Collectors.toMap(index -> wanted.get(index).path(), index -> targets[index]));
    }

    Step[] steps(Schema writer, Schema reader) {
        return steps(writer, reader, List.of()).toArray(Step[]::new);
    }

    private List<Step> steps(Schema writer, Schema reader, List<String> around) {
        List<Step> steps = new ArrayList<>();
        for (Schema.Field field : writer.getFields()) {
            Schema.Field read = reader.getField(field.name());
            List<String> path = inside(around, field.name());
            Target column = columns.get(path);
            if (read != null && column != null) {
                steps.add(reading.of(field.schema(), read.schema(), column));
            } else if (read != null && below(path).findAny().isPresent()) {
                steps.add(inner(field.schema(), EventColumns.withoutNull(read.schema()), path));
            } else {
                steps.add(skipping.of(field.schema()));
            }
        }
        for (Schema.Field field : reader.getFields()) {
            List<String> path = inside(around, field.name());
            if (writer.getField(field.name()) == null) {
                if (columns.get(path) != null) {
                    steps.add(Reading.byDefault(field, columns.get(path)));
                }
                below(path).forEach(column -> steps.add((in, row) -> column.putNull(row)));
            }
        }
        return steps;
    }

    /** Returns the step of a field that is a record, or a union of one with null. */
    private Step inner(Schema writer, Schema reader, List<String> path) {
        if (writer.getType() == Type.UNION) {
            Step[] branches = writer.getTypes().stream().map(type -> inner(type, reader, path)).toArray(Step[]::new);
            return (in, row) -> branches[Skipping.index(in, branches.length)].run(in, row);
        }
        if (writer.getType() != Type.RECORD) {
            Target[] nulls = below(path).toArray(Target[]::new);
            Step skip = skipping.of(writer);
            return (in, row) -> {
                skip.run(in, row);
                for (Target column : nulls) {
                    column.putNull(row);
                }
            };
        }
        Step[] steps = steps(writer, reader, path).toArray(Step[]::new);
        return (in, row) -> {
            for (Step step : steps) {
                step.run(in, row);
            }
        };
    }

    private Stream<Target> below(List<String> path) {
        return columns.entrySet().stream()
            .filter(each -> each.getKey().size() > path.size() && each.getKey().subList(0, path.size()).equals(path))
            .map(Map.Entry::getValue);
    }

    private static List<String> inside(List<String> around, String name) {
        List<String> path = new ArrayList<>(around);
        path.add(name);
        return path;
    }
}
