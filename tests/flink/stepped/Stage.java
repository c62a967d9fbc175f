package stepped;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/**
 * Where the program and the tasks of the mini-cluster meet, for they share a JVM: what is to be sent, the clock that
 * the transcript moves, whose turn it is, and what came out.
 */
final class Stage {
    private static final long PATIENCE_S = 60;

    /** The stage of the job that runs; jobs run one after the other. */
    static volatile Stage current;

    private final int readers;
    private final int generators;
    private volatile long clock;
    private volatile Told.Step step;
    private volatile int steps;
    private volatile int looks;
    private volatile CountDownLatch turn;
    private CompletableFuture<Void> nextStep = new CompletableFuture<>();
    private Long watermark;
    private List<Row> fired = new ArrayList<>();
    private List<Late> late = new ArrayList<>();

    /** Flink makes one watermark generator per partition, and one per reader for what belongs to no partition. */
    Stage(Told told) {
        clock = told.clock();
        readers = told.readers();
        generators = told.readers() + told.partitions();
    }

    /** Every reader sends what its partitions have in this step. */
    void send(Told.Step next) throws InterruptedException {
        clock += next.waitMs();
        step = next;
        turn = new CountDownLatch(readers);
        begin().complete(null);
        await("readers");
    }

    /** Every generator looks at what it has seen, and may emit a watermark. */
    void look() throws InterruptedException {
        turn = new CountDownLatch(generators);
        looks++;
        await("watermark generators");
    }

    /** The number of the step that is being played; 0 before the first. */
    int steps() {
        return steps;
    }

    /** How often the generators were told to look. */
    int looks() {
        return looks;
    }

    long clock() {
        return clock;
    }

    List<Event> sent() {
        return step.send();
    }

    /** A reader or a generator has done its part. */
    void done() {
        turn.countDown();
    }

    /** Complete once there is a step beyond this one. */
    synchronized CompletableFuture<Void> after(int seen) {
        return steps > seen ? CompletableFuture.completedFuture(null) : nextStep;
    }

    synchronized void fired(Row row) {
        fired.add(row);
    }

    synchronized void late(Late event) {
        late.add(event);
    }

    synchronized void watermark(long reached) {
        watermark = watermark == null ? reached : Math.max(watermark, reached);
    }

    /** What came since the last call. */
    synchronized Played taken() {
        Played taken = new Played(watermark, fired, late);
        fired = new ArrayList<>();
        late = new ArrayList<>();
        return taken;
    }

    private synchronized CompletableFuture<Void> begin() {
        CompletableFuture<Void> begun = nextStep;
        nextStep = new CompletableFuture<>();
        steps++;
        return begun;
    }

    private void await(String whom) throws InterruptedException {
        if (!turn.await(PATIENCE_S, TimeUnit.SECONDS)) {
            throw new IllegalStateException("waited " + PATIENCE_S + " s for the " + whom);
        }
    }
}
