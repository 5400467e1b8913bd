//! Members of groups of each type.

use kafka_assigner_kafka::messages::DescribedConsumerMember;

use super::*;
use crate::kafka_groups::view::group::group_test::{
    classic_group, consumer_group, consumer_member, streams_group,
};
use crate::output::text_of;

fn shown(group: KafkaGroupView, is_verbose: bool) -> Vec<String> {
    let text = text_of(&MembersReport::new(group, is_verbose));
    text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect()
}

#[test]
fn a_consumer_group_shows_plans_and_who_waits_for_whom() {
    let old = DescribedConsumerMember { member_type: 0, ..consumer_member("c", &[4], &[4]) };
    let group =
        consumer_group(vec![consumer_member("a", &[0, 1], &[0]), consumer_member("b", &[], &[1]), old]);
    assert_eq!(
        shown(group, true),
        [
            "Consumer group 'billing' is rebalancing.",
            "GROUP CONSUMER-ID HOST CLIENT-ID #PARTITIONS CURRENT-EPOCH CURRENT-ASSIGNMENT TARGET-EPOCH \
             TARGET-ASSIGNMENT UPGRADED",
            "billing a /127.0.0.1 client-a 2 4 t:0,1 5 t:0 true",
            "billing b /127.0.0.1 client-b 0 4 - 5 t:1 true",
            "billing c /127.0.0.1 client-c 1 4 t:4 5 t:4 false",
            "",
            "WAITS FOR OF",
            "b t:1 a",
            "client client-c at /127.0.0.1 still speaks the classic protocol (c)",
        ]
    );
}

#[test]
fn a_classic_group_has_no_plan_of_the_broker_and_shows_instances_where_there_are_some() {
    let lines = shown(classic_group("Stable"), true);
    assert_eq!(
        lines[..2],
        [
            "GROUP CONSUMER-ID GROUP-INSTANCE-ID HOST CLIENT-ID #PARTITIONS CURRENT-EPOCH CURRENT-ASSIGNMENT \
             TARGET-EPOCH TARGET-ASSIGNMENT",
            "orders a one /127.0.0.1 client 2 - t:0,1 - -",
        ]
    );
    assert!(lines[3].starts_with("the assignment of b can't be read: "), "{lines:?}");
    assert_eq!(shown(classic_group("Empty"), false), ["Consumer group 'orders' has no active members."]);
}

#[test]
fn a_share_group_shows_what_its_members_read() {
    let group = KafkaGroupView {
        kind: KafkaGroupKind::Share,
        state: "Stable".to_owned(),
        ..consumer_group(vec![consumer_member("a", &[0], &[0])])
    };
    let lines = shown(group, true);
    assert_eq!(
        lines,
        [
            "GROUP CONSUMER-ID HOST CLIENT-ID #PARTITIONS MEMBER-EPOCH ASSIGNMENT",
            "billing a /127.0.0.1 client-a 1 4 t:0"
        ]
    );
}

#[test]
fn a_streams_group_shows_tasks() {
    assert_eq!(
        shown(streams_group(), false),
        ["GROUP MEMBER PROCESS CLIENT-ID ASSIGNMENTS", "app m p-1 app-client ACTIVE: 0:[0,1];"]
    );
    assert_eq!(
        shown(streams_group(), true)[1],
        "app 3 1 m streams 3 p-1 app-client ACTIVE: 0:[0,1]; TARGET-ACTIVE: 0:[0,1];"
    );
}
