package tidemark;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.core.StreamReadConstraints;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.CharBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import org.apache.spark.sql.vectorized.ColumnVector;

/**
 * Decodes JSON values into columns. A row is null in all columns if the value is not one object or array in UTF-8, with
 * or without the frame of a schema registry. Texts stay where they are, unless they have escapes.
 *
 * <p>A path leads on inside of a text that is JSON, and in a list of objects with {@code key} and {@code value} to the
 * value of a key.
 */
final class JsonDecoder implements ValueDecoder {
    private static final int MOST_DEPTH = 500;
    private static final int MOST_OF_NAME = 1_000;
    private static final byte NOT_UTF8 = (byte) 0xff;

    private final JsonFactory factory = JsonFactory.builder()
        .streamReadConstraints(StreamReadConstraints.builder()
            .maxNestingDepth(MOST_DEPTH)
            .maxNameLength(MOST_OF_NAME)  // names are cached
            .maxNumberLength(Integer.MAX_VALUE)
            .maxStringLength(Integer.MAX_VALUE)
            .build())
        .disable(JsonFactory.Feature.INTERN_FIELD_NAMES)
        .disable(JsonFactory.Feature.FAIL_ON_SYMBOL_HASH_OVERFLOW)
        .build();
    private final JsonColumn[] columns;
    private final JsonPath root = new JsonPath();
    private byte[] bytes;
    private int start;
    private int end;

    /** Makes columns of {@code fields} for a number of rows. */
    JsonDecoder(JsonFields fields, int rows) {
        columns = fields.fields().stream().map(field -> new JsonColumn(field, rows)).toArray(JsonColumn[]::new);
        for (JsonColumn column : columns) {
            root.add(column, 0);
        }
    }

    @Override
    public ColumnVector[] vectors() {
        return Arrays.stream(columns).map(column -> column.target().vector()).toArray(ColumnVector[]::new);
    }

    @Override
    public void reset() {
        for (JsonColumn column : columns) {
            column.target().reset();
        }
    }

    @Override
    public void putNull(int row) {
        for (JsonColumn column : columns) {
            column.target().putNull(row);
        }
    }

    @Override
    public void decode(byte[] array, int from, int to, int row) {
        bytes = array;
        end = to;
        start = JsonText.start(array, from, to);
        if (start < 0) {
            putNull(row);
            return;
        }
        try (JsonParser parser = factory.createParser(array, start, end - start)) {
            root(parser, row);
        } catch (IOException | RuntimeException error) {  // no bytes of a record may end a task
            putNull(row);
        }
    }

    private void root(JsonParser parser, int row) throws IOException {
        value(parser, parser.nextToken(), root, row);
        if (parser.nextToken() != null) {
            throw Malformed.INSTANCE;
        }
        for (JsonColumn column : columns) {
            column.finish(row);
        }
    }

    private void value(JsonParser parser, JsonToken token, JsonPath path, int row) throws IOException {
        path.clear();
        int from = start + (int) parser.currentTokenLocation().getByteOffset();
        switch (token) {
            case VALUE_NULL -> { }
            case VALUE_STRING -> text(parser, from, path, row);
            case START_OBJECT, START_ARRAY -> {
                inside(parser, token, path, row);
                int length = start + (int) parser.currentLocation().getByteOffset() - from;
                path.put(token, bytes, from, length, row);
            }
            default -> path.put(token, bytes, from, parser.getTextLength(), row);
        }
    }

    /** Reads an object or array up to its end. */
    private void inside(JsonParser parser, JsonToken token, JsonPath path, int row) throws IOException {
        if (!path.hasPlaces()) {
            parser.skipChildren();
        } else if (token == JsonToken.START_OBJECT) {
            for (String name = parser.nextFieldName(); name != null; name = parser.nextFieldName()) {
                inner(parser, parser.nextToken(), path.name(name), row);
            }
        } else {
            int index = 0;
            for (JsonToken item = parser.nextToken(); item != JsonToken.END_ARRAY; item = parser.nextToken()) {
                int from = start + (int) parser.currentTokenLocation().getByteOffset();
                inner(parser, item, path.index(index++), row);
                if (item == JsonToken.START_OBJECT && path.hasKeys()) {
                    keyed(from, path, row);
                }
            }
        }
    }

    /** Reads the value of an object with a key, which begins at a byte, if a path asks for the key. */
    private void keyed(int from, JsonPath path, int row) throws IOException {
        int outer = start;
        start = from;
        try {
            String key = keyAt(from);
            JsonPath place = key == null ? null : path.key(key);
            if (place != null) {
                place.clear();
                try (JsonParser item = factory.createParser(bytes, from, end - from)) {
                    item.nextToken();
                    for (String name = item.nextFieldName(); name != null; name = item.nextFieldName()) {
                        inner(item, item.nextToken(), name.equals("value") ? place : null, row);
                    }
                }
            }
        } finally {
            start = outer;
        }
    }

    private String keyAt(int from) throws IOException {
        String key = null;
        try (JsonParser item = factory.createParser(bytes, from, end - from)) {
            item.nextToken();
            for (String name = item.nextFieldName(); name != null; name = item.nextFieldName()) {
                JsonToken token = item.nextToken();
                if (name.equals("key")) {
                    key = token == JsonToken.VALUE_STRING ? item.getText() : null;
                }
                item.skipChildren();
            }
        }
        return key;
    }

    private void inner(JsonParser parser, JsonToken token, JsonPath path, int row) throws IOException {
        if (path != null) {
            value(parser, token, path, row);
        } else {
            parser.skipChildren();
        }
    }

    private void text(JsonParser parser, int from, JsonPath path, int row) throws IOException {
        int at = from + 1;
        while (at < end && bytes[at] != '"' && bytes[at] != '\\') {
            at++;
        }
        if (at < end && bytes[at] == '"') {
            text(bytes, from + 1, at, path, row);
            return;
        }
        byte[] copy = unescaped(parser, from);
        text(copy, 0, copy.length, path, row);
    }

    private void text(byte[] array, int from, int to, JsonPath path, int row) {
        if (path.hasPlaces() && JsonText.isValue(array, from, to)) {
            insideText(array, from, to, path, row);
        }
        path.put(JsonToken.VALUE_STRING, array, from, to - from, row);
    }

    /** Reads an object or array in a text, which may turn out to be none. */
    private void insideText(byte[] array, int from, int to, JsonPath path, int row) {
        byte[] outer = bytes;
        int outerStart = start;
        int outerEnd = end;
        bytes = array;
        start = from;
        end = to;
        try (JsonParser parser = factory.createParser(array, from, to - from)) {
            inside(parser, parser.nextToken(), path, row);
            if (parser.nextToken() != null) {
                throw Malformed.INSTANCE;
            }
        } catch (IOException | RuntimeException error) {
            path.clear();
        } finally {
            bytes = outer;
            start = outerStart;
            end = outerEnd;
        }
    }

    /** Returns the text in UTF-8; half a surrogate pair has none: then the text as it is written, and a byte that is not UTF-8. */
    private byte[] unescaped(JsonParser parser, int from) throws IOException {
        String text = parser.getText();
        try {
            ByteBuffer encoded = StandardCharsets.UTF_8.newEncoder().encode(CharBuffer.wrap(text));
            return Arrays.copyOf(encoded.array(), encoded.remaining());
        } catch (CharacterCodingException error) {
            byte[] written = Arrays.copyOfRange(bytes, from + 1, start + (int) parser.currentLocation().getByteOffset());
            written[written.length - 1] = NOT_UTF8;
            return written;
        }
    }
}
