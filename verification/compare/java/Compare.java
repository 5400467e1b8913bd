import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Supplier;
import java.util.stream.Collectors;

/**
 * Measures one cell: {@code STRATEGY MEMBERS PARTITIONS TOPICS SUBSCRIPTIONS RACKS EVENT LIMIT_MS}.
 *
 * <p>Prints the median time of a run in milliseconds, the partitions that changed hands, and a digest of
 * who got what.
 */
public final class Compare {
    public static void main(String[] told) {
        long limit = Long.parseLong(told[7]) * 1_000_000;
        Stopwatch stopwatch = new Stopwatch(System.nanoTime() + limit);
        int members = Integer.parseInt(told[1]);
        Shape shape = new Shape(
            members, Integer.parseInt(told[2]), Integer.parseInt(told[3]), told[4], Boolean.parseBoolean(told[5]));
        Event event = Event.valueOf(told[6].toUpperCase());
        Contestant contestant = Contestant.of(told[0], shape);
        Contestant.Result before = settled(contestant, event.before(members));
        Supplier<Contestant.Result> run = contestant.prepare(event.after(members), before);
        double median = stopwatch.median(run);
        Contestant.Result after = run.get();
        Set<String> ids = event.after(members).stream().map(Shape::memberId).collect(Collectors.toSet());
        System.out.printf(
            "{\"ms\":%s,\"moves\":%d,\"digest\":\"%016x\"}%n", median, moves(ids, before, after), Digest.of(after));
        // Threads of Kafka's classes, should there be any, are not waited for.
        System.exit(0);
    }

    private static Contestant.Result settled(Contestant contestant, List<Integer> members) {
        Contestant.Result nobody = visitor -> { };
        return members.isEmpty() ? nobody : contestant.prepare(members, nobody).get();
    }

    /** How many partitions leave a member; those who left do not count. */
    private static long moves(Set<String> members, Contestant.Result before, Contestant.Result after) {
        Map<String, Map<Integer, String>> owners = new HashMap<>();
        after.each((member, topic, partition) ->
            owners.computeIfAbsent(topic, any -> new HashMap<>()).put(partition, member));
        long[] moves = {0};
        before.each((member, topic, partition) -> {
            String owner = owners.getOrDefault(topic, Map.of()).get(partition);
            if (members.contains(member) && !member.equals(owner)) moves[0]++;
        });
        return moves[0];
    }
}
