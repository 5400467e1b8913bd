import java.util.ArrayList;
import java.util.List;

/** What a group is like; the same rules as in this crate's {@code shape.rs}, which digests check. */
record Shape(int members, int partitions, int topics, String subscriptions, boolean racks) {
    private static final String[] RACKS = {"rack-a", "rack-b", "rack-c"};
    private static final int REPLICAS = 2;

    int partitionsPerTopic() {
        return partitions / topics;
    }

    List<String> topicNames() {
        List<String> names = new ArrayList<>(topics);
        for (int topic = 0; topic < topics; topic++) names.add(String.format("topic-%04d", topic));
        return names;
    }

    static String memberId(int member) {
        return String.format("member-%05d", member);
    }

    /** The topics of a member, from the first up to the second. */
    int[] interest(int member) {
        return switch (subscriptions) {
            case "all" -> new int[] {0, topics};
            case "mixed-a" -> new int[] {0, member == 0 ? 1 : topics};
            case "mixed-b" -> new int[] {topics * (member % 5) / 5, topics * (member % 5 + 1) / 5};
            case "mixed-c" -> member % 2 == 0 ? new int[] {0, topics * 2 / 3} : new int[] {topics / 3, topics};
            default -> throw new IllegalArgumentException("no such subscriptions: " + subscriptions);
        };
    }

    static String[] rackNames() {
        return RACKS;
    }

    String rackOf(int member) {
        return racks ? RACKS[member % RACKS.length] : null;
    }

    /** The brokers that have a replica of a partition. */
    static int[] replicas(int topic, int partition) {
        int[] brokers = new int[REPLICAS];
        for (int replica = 0; replica < REPLICAS; replica++) {
            brokers[replica] = (topic + partition + replica) % RACKS.length;
        }
        return brokers;
    }
}
