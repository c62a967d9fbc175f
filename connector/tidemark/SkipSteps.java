package tidemark;

import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import org.apache.avro.Schema;

/** Makes the steps that pass values which nobody asked for. */
final class SkipSteps {
    private final Map<Schema, Step[]> records = new IdentityHashMap<>();

    Step of(Schema writer) {
        return switch (writer.getType()) {
            case NULL -> (in, row) -> { };
            case BOOLEAN -> (in, row) -> in.readBoolean();
            case INT -> (in, row) -> in.integer();
            case LONG -> (in, row) -> in.number();
            case FLOAT -> (in, row) -> in.skip(4);
            case DOUBLE -> (in, row) -> in.skip(8);
            case BYTES, STRING -> (in, row) -> in.skip(in.length());
            case FIXED -> fixed(writer.getFixedSize());
            case ENUM -> symbol(writer.getEnumSymbols().size());
            case ARRAY -> blocks(of(writer.getElementType()));
            case MAP -> entries(of(writer.getValueType()));
            case UNION -> branches(writer.getTypes());
            case RECORD -> record(writer);
        };
    }

    private static Step fixed(int size) {
        return (in, row) -> in.skip(size);
    }

    private static Step symbol(int count) {
        return (in, row) -> index(in, count);
    }

    /** Returns the index of a symbol or branch, of which there are {@code count}. */
    static int index(Input in, int count) {
        int index = in.integer();
        if (index < 0 || index >= count) {
            throw Malformed.INSTANCE;
        }
        return index;
    }

    private static Step blocks(Step item) {
        return (in, row) -> {
            in.enter();
            for (int count = in.block(); count > 0; count = in.block()) {
                for (int index = 0; index < count; index++) {
                    item.run(in, row);
                }
            }
            in.leave();
        };
    }

    private static Step entries(Step value) {
        return blocks((in, row) -> {
            in.skip(in.length());
            value.run(in, row);
        });
    }

    private Step branches(List<Schema> types) {
        Step[] steps = types.stream().map(this::of).toArray(Step[]::new);
        return (in, row) -> steps[index(in, steps.length)].run(in, row);
    }

    private Step record(Schema writer) {
        Step[] known = records.get(writer);
        if (known == null) {
            Step[] fields = new Step[writer.getFields().size()];
            records.put(writer, fields);  // before its fields, which may have it
            for (Schema.Field field : writer.getFields()) {
                fields[field.pos()] = of(field.schema());
            }
            known = fields;
        }
        Step[] fields = known;
        return (in, row) -> {
            in.enter();
            for (Step field : fields) {
                field.run(in, row);
            }
            in.leave();
        };
    }
}
