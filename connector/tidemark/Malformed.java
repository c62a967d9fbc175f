package tidemark;

/** The bytes are not Avro of their schema, or not JSON. There is one, without a stack: noise may be most of a topic. */
final class Malformed extends RuntimeException {
    private static final long serialVersionUID = 1;

    static final Malformed INSTANCE = new Malformed();

    private Malformed() {
        super("the bytes are no event", null, false, false);
    }
}
