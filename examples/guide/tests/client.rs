//! `docs/guide/client.md`: the test of a handler.

use kafka_assigner_client::kafka::{ErrorPolicy, Remedy};
use kafka_assigner_example_guide::client::Amounts;
use kafka_assigner_handler::testing::SimulatedPartition;

#[tokio::test(start_paused = true)]
async fn totals_survive_a_crash_and_a_record_that_is_none() {
    let policy = ErrorPolicy::after(5, Remedy::DeadLetter);
    let mut orders = SimulatedPartition::new("orders", 0, || Amounts).with_policy(policy);
    for amount in ["1", "two", "3"] {
        orders.produce("a", amount);
    }
    orders.run().await;
    orders.move_owner().await;
    let failing = orders.produce("a", "4");
    orders.fail(failing, 2);
    orders.run().await;
    orders.crash();
    orders.run().await;
    assert_eq!(orders.state(), Some(&8));
    assert_eq!(orders.dead_letters()[0].value().unwrap(), b"two");
}
