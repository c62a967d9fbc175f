package drains;

import org.apache.flink.api.java.tuple.Tuple3;

/** Key, event time in milliseconds, and whether it is a click: a tuple, because Flink serializes tuples fastest. */
@SuppressWarnings("unchecked") // a tuple copies itself as any type
public class Event extends Tuple3<String, Long, Boolean> {
    private static final long serialVersionUID = 1;

    /** For the serializer. */
    public Event() {
    }

    Event(String key, long time, boolean click) {
        super(key, time, click);
    }

    String key() {
        return f0;
    }

    long time() {
        return f1;
    }

    boolean click() {
        return f2;
    }
}
