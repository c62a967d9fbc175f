package stepped;

import java.io.File;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

import org.apache.flink.api.common.JobID;
import org.apache.flink.api.common.JobStatus;
import org.apache.flink.core.execution.CheckpointType;
import org.apache.flink.runtime.execution.ExecutionState;
import org.apache.flink.runtime.executiongraph.AccessExecutionVertex;
import org.apache.flink.runtime.minicluster.MiniCluster;
import org.apache.flink.runtime.minicluster.MiniClusterConfiguration;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.ObjectMapper;

/** Plays transcripts on a mini-cluster: `Main told.json played.json`, lists of Told and, in their order, of Played. */
public final class Main {
    private static final int WINDOW_TASKS = 2;
    private static final int SLOTS = 8;
    private static final long PATIENCE_S = 60;

    private final MiniCluster cluster;

    private Main(MiniCluster cluster) {
        this.cluster = cluster;
    }

    public static void main(String[] files) throws Exception {
        ObjectMapper json = new ObjectMapper();
        List<List<Played>> played = new ArrayList<>();
        MiniClusterConfiguration settings =
                new MiniClusterConfiguration.Builder().setNumSlotsPerTaskManager(SLOTS).withRandomPorts().build();
        try (MiniCluster cluster = new MiniCluster(settings)) {
            cluster.start();
            for (Told told : json.readValue(new File(files[0]), Told[].class)) {
                played.add(new Main(cluster).play(told));
            }
        }
        json.writeValue(new File(files[1]), played);
    }

    private List<Played> play(Told told) throws Exception {
        Stage stage = new Stage(told);
        Stage.current = stage;
        JobID job = cluster.submitJob(Job.of(told, WINDOW_TASKS).getJobGraph()).get().getJobID();
        awaitRunning(job);
        // From here on silence is measured.
        stage.look();
        List<Played> played = new ArrayList<>();
        for (Told.Step step : told.steps()) {
            stage.send(step);
            // Every event has met the watermark from before the step when the new one sets out.
            checkpoint(job);
            stage.look();
            checkpoint(job);
            played.add(stage.taken());
        }
        cluster.cancelJob(job).get(PATIENCE_S, TimeUnit.SECONDS);
        cluster.requestJobResult(job).get(PATIENCE_S, TimeUnit.SECONDS);
        return played;
    }

    /** A checkpoint's barrier passes every task in order: once it is complete, all that was sent has been dealt with. */
    private void checkpoint(JobID job) throws Exception {
        cluster.triggerCheckpoint(job, CheckpointType.FULL).get(PATIENCE_S, TimeUnit.SECONDS);
    }

    /** A checkpoint is refused before all tasks run. */
    private void awaitRunning(JobID job) throws Exception {
        long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(PATIENCE_S);
        while (!isRunning(job)) {
            if (System.nanoTime() > deadline) {
                throw new IllegalStateException("the tasks did not start within " + PATIENCE_S + " s");
            }
            Thread.sleep(1);
        }
    }

    private boolean isRunning(JobID job) throws Exception {
        // Before its job runs, a graph has no tasks that could fail to run.
        if (cluster.getJobStatus(job).get() != JobStatus.RUNNING) {
            return false;
        }
        Iterable<? extends AccessExecutionVertex> tasks = cluster.getExecutionGraph(job).get().getAllExecutionVertices();
        for (AccessExecutionVertex task : tasks) {
            if (task.getExecutionState() != ExecutionState.RUNNING) {
                return false;
            }
        }
        return true;
    }
}
