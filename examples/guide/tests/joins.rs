//! `docs/guide/client.md`: the test of a join.

use kafka_assigner_example_guide::joins::Join;
use kafka_assigner_handler::testing::SimulatedPartition;

#[tokio::test(start_paused = true)]
async fn each_order_meets_the_customers_of_its_number_after_a_move_too() {
    let join = Join::default();
    let of = |join: &Join| {
        let join = join.clone();
        move || join.clone()
    };
    let mut customers = SimulatedPartition::new("customers", 0, of(&join));
    let mut orders = SimulatedPartition::new("orders", 0, of(&join));
    customers.produce("7", "Ada");
    orders.produce("7", "tea");
    customers.run().await;
    orders.run().await;
    // The unit moves: a state that another process has built is what orders meet.
    customers.move_owner().await;
    orders.move_owner().await;
    customers.produce("8", "Bob");
    orders.produce("7", "milk");
    customers.run().await;
    orders.produce("8", "rum");
    orders.run().await;
    let joined = join.joined.lock().unwrap();
    let pairs: Vec<_> = joined.iter().map(|(name, order)| [&name[..], &order[..]]).collect();
    assert_eq!(pairs, [[&b"Ada"[..], b"tea"], [b"Ada", b"milk"], [b"Bob", b"rum"]]);
}
