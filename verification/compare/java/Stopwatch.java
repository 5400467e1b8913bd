import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.function.Supplier;

/** Warms up as long as that does any good, and then takes the middle of several times. */
final class Stopwatch {
    private static final int RUNS = 5;
    private static final int MOST_RUNS = 25;
    private static final int WARM_UP_RUNS = 3;
    private static final long WARM_UP = 1_500_000_000L;
    private static final long MEASURED = 300_000_000L;

    private final long deadline;

    /** What a run came to is kept for as long as the next takes, so that it can't be optimised away. */
    private Object last;

    Stopwatch(long deadline) {
        this.deadline = deadline;
    }

    /** In milliseconds. May take longer than until the deadline; whoever started this ends it then. */
    double median(Supplier<?> run) {
        warmUp(run);
        List<Long> times = new ArrayList<>();
        for (long sum = 0; times.size() < RUNS || (times.size() < MOST_RUNS && sum < MEASURED); ) {
            long time = time(run);
            times.add(time);
            sum += time;
        }
        Collections.sort(times);
        return times.get(times.size() / 2) / 1e6;
    }

    /** Leaves time for the runs that count. */
    private void warmUp(Supplier<?> run) {
        long end = System.nanoTime() + WARM_UP;
        long slowest = 0;
        int runs = 0;
        while (System.nanoTime() < end || runs < WARM_UP_RUNS) {
            slowest = Math.max(slowest, time(run));
            runs++;
            if (System.nanoTime() + slowest * (RUNS + 2) > deadline) return;
        }
    }

    private long time(Supplier<?> run) {
        long start = System.nanoTime();
        last = run.get();
        return System.nanoTime() - start;
    }
}
