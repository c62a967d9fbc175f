package tidemark;

import com.fasterxml.jackson.core.JsonToken;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** A place in JSON values that columns are read from, or that has such places inside. */
final class JsonPath {
    private final List<JsonColumn> columns = new ArrayList<>();
    private final Map<String, JsonPath> names = new HashMap<>();
    private final Map<Integer, JsonPath> indices = new HashMap<>();
    private final Map<String, JsonPath> keys = new HashMap<>();
    private int mostIndex = -1;

    /** Adds a column whose path, from its segment {@code depth} on, is inside of this place. */
    void add(JsonColumn column, int depth) {
        List<String> path = column.field().path();
        if (depth == path.size()) {
            columns.add(column);
            return;
        }
        String segment = path.get(depth);
        JsonPath inner = names.computeIfAbsent(segment, name -> new JsonPath());
        inner.add(column, depth + 1);
        if (segment.matches("0|[1-9][0-9]{0,8}")) {
            int index = Integer.parseInt(segment);
            indices.put(index, inner);
            mostIndex = Math.max(mostIndex, index);
        } else {
            keys.put(segment, inner);
        }
    }

    boolean hasPlaces() {
        return !names.isEmpty();
    }

    /** Returns the place of a field of an object, or null. */
    JsonPath name(String name) {
        return names.get(name);
    }

    /** Returns the place of an item of an array, or null. */
    JsonPath index(int index) {
        return index > mostIndex ? null : indices.get(index);
    }

    boolean hasKeys() {
        return !keys.isEmpty();
    }

    /** Returns the place of the value of a key in a list of keys and values, or null. */
    JsonPath key(String key) {
        return keys.get(key);
    }

    /** Forgets the values of the row: the last of several fields of one name counts. */
    void clear() {
        columns.forEach(JsonColumn::clear);
        names.values().forEach(JsonPath::clear);
    }

    void put(JsonToken token, byte[] bytes, int start, int length, int row) {
        for (JsonColumn column : columns) {
            column.put(token, bytes, start, length, row);
        }
    }
}
