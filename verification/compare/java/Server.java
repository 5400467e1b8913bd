import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Supplier;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.coordinator.group.api.assignor.GroupSpec;
import org.apache.kafka.coordinator.group.api.assignor.MemberAssignment;
import org.apache.kafka.coordinator.group.api.assignor.SubscribedTopicDescriber;
import org.apache.kafka.coordinator.group.api.assignor.SubscriptionType;
import org.apache.kafka.coordinator.group.assignor.UniformAssignor;
import org.apache.kafka.coordinator.group.modern.Assignment;
import org.apache.kafka.coordinator.group.modern.GroupSpecImpl;
import org.apache.kafka.coordinator.group.modern.MemberSubscriptionAndAssignmentImpl;

/** The assignor that brokers run for groups of KIP-848. */
final class Server implements Contestant {
    private final Shape shape;
    private final List<Uuid> ids = new ArrayList<>();
    private final Map<Uuid, String> names = new HashMap<>();
    private final Map<String, Uuid> idByName = new HashMap<>();
    /** Members with the same interest share it. */
    private final Map<List<Integer>, Set<Uuid>> subscriptions = new HashMap<>();

    Server(Shape shape) {
        this.shape = shape;
        for (String name : shape.topicNames()) {
            Uuid id = Uuid.randomUuid();
            ids.add(id);
            names.put(id, name);
            idByName.put(name, id);
        }
    }

    /** The broker knows the type of the group and who owns each partition already, so that is not timed. */
    @Override
    public Supplier<Result> prepare(List<Integer> members, Result before) {
        Map<String, Map<Uuid, Set<Integer>>> owned = new HashMap<>();
        Map<Uuid, Map<Integer, String>> owners = new HashMap<>();
        Set<String> present = new HashSet<>();
        members.forEach(member -> present.add(Shape.memberId(member)));
        before.each((member, topic, partition) -> {
            if (!present.contains(member)) return;
            Uuid id = idByName.get(topic);
            owned.computeIfAbsent(member, any -> new HashMap<>())
                .computeIfAbsent(id, any -> new HashSet<>()).add(partition);
            owners.computeIfAbsent(id, any -> new HashMap<>()).put(partition, member);
        });
        Map<String, MemberSubscriptionAndAssignmentImpl> specs = new HashMap<>();
        for (int member : members) {
            String id = Shape.memberId(member);
            specs.put(id, spec(member, owned.getOrDefault(id, Map.of())));
        }
        SubscriptionType type = shape.subscriptions().equals("all")
            ? SubscriptionType.HOMOGENEOUS
            : SubscriptionType.HETEROGENEOUS;
        GroupSpec group = new GroupSpecImpl(specs, type, owners);
        UniformAssignor assignor = new UniformAssignor();
        Topics describer = new Topics();
        return () -> visiting(assignor.assign(group, describer).members());
    }

    private MemberSubscriptionAndAssignmentImpl spec(int member, Map<Uuid, Set<Integer>> owned) {
        int[] interest = shape.interest(member);
        Set<Uuid> subscribed = subscriptions.computeIfAbsent(
            List.of(interest[0], interest[1]),
            any -> new HashSet<>(ids.subList(interest[0], interest[1])));
        Optional<String> rack = Optional.ofNullable(shape.rackOf(member));
        return new MemberSubscriptionAndAssignmentImpl(rack, Optional.empty(), subscribed, new Assignment(owned));
    }

    private Result visiting(Map<String, MemberAssignment> assignment) {
        return visitor -> assignment.forEach((member, got) -> got.partitions().forEach((id, partitions) -> {
            for (int partition : partitions) visitor.visit(member, names.get(id), partition);
        }));
    }

    /** What the broker's metadata says of topics, all of it made before. */
    private final class Topics implements SubscribedTopicDescriber {
        /** By partition the racks of its replicas; partitions in the same racks share the set. */
        private final Map<Uuid, List<Set<String>>> racks = new HashMap<>();

        Topics() {
            Map<List<Integer>, Set<String>> sets = new HashMap<>();
            for (int topic = 0; topic < ids.size(); topic++) {
                List<Set<String>> ofTopic = new ArrayList<>(shape.partitionsPerTopic());
                for (int partition = 0; partition < shape.partitionsPerTopic(); partition++) {
                    int[] brokers = Shape.replicas(topic, partition);
                    ofTopic.add(sets.computeIfAbsent(List.of(brokers[0], brokers[1]), any -> racksOf(brokers)));
                }
                racks.put(ids.get(topic), ofTopic);
            }
        }

        private Set<String> racksOf(int[] brokers) {
            if (!shape.racks()) return Set.of();
            return Set.of(Shape.rackNames()[brokers[0]], Shape.rackNames()[brokers[1]]);
        }

        @Override
        public int numPartitions(Uuid id) {
            return racks.containsKey(id) ? shape.partitionsPerTopic() : -1;
        }

        @Override
        public Set<String> racksForPartition(Uuid id, int partition) {
            return racks.get(id).get(partition);
        }
    }
}
