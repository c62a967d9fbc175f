package drains;

import java.io.File;

import org.apache.flink.api.common.JobID;
import org.apache.flink.runtime.jobgraph.JobGraph;
import org.apache.flink.runtime.jobgraph.SavepointRestoreSettings;
import org.apache.flink.runtime.minicluster.MiniCluster;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.ObjectMapper;

/** Runs a job until it is killed: `Endless settings.json FOLDER [CHECKPOINT]`, from a checkpoint if there is one. */
public final class Endless {
    private Endless() {
    }

    public static void main(String[] arguments) throws Exception {
        DrainSettings settings = new ObjectMapper().readValue(new File(arguments[0]), DrainSettings.class);
        try (MiniCluster cluster = Main.cluster(settings)) {
            cluster.start();
            JobGraph graph = Main.graph(settings, arguments[1]);
            if (arguments.length > 2) {
                graph.setSavepointRestoreSettings(SavepointRestoreSettings.forPath(arguments[2]));
            }
            JobID job = cluster.submitJob(graph).get().getJobID();
            cluster.requestJobResult(job).get().toJobExecutionResult(Endless.class.getClassLoader());
        }
    }
}
