import java.util.List;
import java.util.function.Supplier;

/** One of Kafka's assignors, with the objects that it is given. */
interface Contestant {
    /** Who gets what. */
    interface Result {
        /** Tells for each member the topic and the partition of each of its partitions. */
        void each(Visitor visitor);
    }

    /** Is told one partition. */
    interface Visitor {
        void visit(String member, String topic, int partition);
    }

    /** Makes everything that the assignor takes, so that the run itself is nothing but the assignor. */
    Supplier<Result> prepare(List<Integer> members, Result before);

    static Contestant of(String strategy, Shape shape) {
        return strategy.equals("balanced") ? new Server(shape) : new Client(strategy, shape);
    }
}
