//! Probes, metrics and the end.

use kafka_assigner_core::key::{DEFAULT_PREFIX, Key, Layout};
use kafka_assigner_proto::v1::assignment_command::Command;
use kafka_assigner_proto::v1::{RegisterRequest, Seen};
use kafka_assigner_server::identity;
use kafka_assigner_store::faulty::Outage;
use kafka_assigner_store::{MemoryStore, Store as _};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_check_response::ServingStatus;
use tonic_health::pb::health_client::HealthClient;

use crate::member::full;
use crate::served::{PATIENCE, Served, until};

/// The answer to a GET, head and body.
pub(crate) async fn get(served: &Served, path: &str) -> String {
    let mut stream = TcpStream::connect(served.http).await.expect("it listens");
    let request = format!("GET {path} HTTP/1.1\r\nhost: test\r\nconnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.expect("it reads");
    let mut answer = String::new();
    timeout(PATIENCE, stream.read_to_string(&mut answer)).await.expect("it answers").expect("it is text");
    answer
}

#[tokio::test]
async fn probes_say_that_all_is_well() {
    let served = Served::start().await;
    served.topic(1).await;
    let alive = get(&served, "/livez").await;
    assert!(alive.starts_with("HTTP/1.1 200") && alive.contains("ok loops"), "{alive}");
    let ready = get(&served, "/readyz").await;
    assert!(ready.starts_with("HTTP/1.1 200"), "{ready}");
    assert!(
        ready.contains("ok views: 1 groups loaded") && ready.contains("ok store: at revision"),
        "{ready}"
    );
}

#[tokio::test]
async fn an_instance_without_its_store_stays_in_service_and_warns() {
    let served = Served::start().await;
    let probe = async || get(&served, "/readyz").await;
    let is_ready = |answer: &String| answer.starts_with("HTTP/1.1 200");
    until("it is ready", probe, is_ready).await;
    served.link.begin_outage(Outage::Refusing);
    let ready = get(&served, "/readyz").await;
    assert!(is_ready(&ready) && ready.contains("warning store"), "{ready}");
    let is_broken = |answer: &String| is_ready(answer) && answer.contains("warning watch: broken");
    until("it warns of the watch as well", probe, is_broken).await;
    assert!(get(&served, "/livez").await.starts_with("HTTP/1.1 200"));
    served.link.end_outage();
    let is_fine = |answer: &String| answer.contains("ok store") && !answer.contains("warning");
    until("it does not warn any more", probe, is_fine).await;
}

#[tokio::test]
async fn two_members_that_have_seen_more_than_there_is_are_a_warning() {
    let served = Served::start().await;
    let probe = async || get(&served, "/readyz").await;
    until("it is ready", probe, |answer| answer.starts_with("HTTP/1.1 200")).await;
    let cluster_id = identity::read(&served.link, DEFAULT_PREFIX).await.unwrap().0.unwrap().id().to_owned();
    for (name, is_warned) in [("a", false), ("a", false), ("b", true)] {
        let seen = Seen { cluster_id: cluster_id.clone(), revision: 1 << 62 };
        served.register(RegisterRequest { seen: Some(seen), ..full(name, &format!("{name}-1")) }).await;
        let ready = get(&served, "/readyz").await;
        assert!(ready.starts_with("HTTP/1.1 200"), "{ready}");
        assert_eq!(
            ready.contains("warning store: 2 members have seen a later revision"),
            is_warned,
            "{ready}"
        );
    }
}

#[tokio::test]
async fn an_instance_whose_store_was_wiped_is_not_ready_and_says_why() {
    let served = Served::start().await;
    let probe = async || get(&served, "/readyz").await;
    until("it is ready", probe, |answer| answer.starts_with("HTTP/1.1 200")).await;
    let empty = MemoryStore::new().back_up();
    served.link.inner().put_back(&empty);
    let ready = get(&served, "/readyz").await;
    assert!(ready.starts_with("HTTP/1.1 503") && ready.contains("its cluster id is gone"), "{ready}");
}

#[tokio::test]
async fn metrics_are_shown_as_open_metrics() {
    let served = Served::start().await;
    served.topic(3).await;
    let _here = served.consumer("a").await;
    let granted = "kafka_assigner_moves_total{group=\"g\",reason=\"unowned\"} 3";
    let ask = async || get(&served, "/metrics").await;
    let text = until("the grants are counted", ask, |text| text.contains(granted)).await;
    assert!(text.contains("content-type: application/openmetrics-text"), "{text}");
    for metric in ["kafka_assigner_leader{group=\"g\"} 1", "kafka_assigner_store_call_seconds_bucket"] {
        assert!(text.contains(metric), "{metric} in {text}");
    }
    assert!(text.ends_with("# EOF\n"), "{text}");
    let owned = "kafka_assigner_partitions_unowned{group=\"g\"} 0";
    until("nothing is unowned", async || get(&served, "/metrics").await, |text| text.contains(owned)).await;
}

#[tokio::test]
async fn a_stop_sends_streams_away_frees_the_leadership_and_ends() {
    let served = Served::start().await;
    served.topic(1).await;
    let mut stream = served.consumer("a").await;
    let leader = Layout::new(DEFAULT_PREFIX, "g".parse().unwrap()).encode(&Key::Leader);
    let link = served.link.clone();
    let record = async || link.get(&leader).await.unwrap().0;
    until("it leads", record, Option::is_some).await;
    let health = HealthClient::new(served.channel().await);
    let check = async || {
        let answer = health.clone().check(HealthCheckRequest::default()).await;
        answer.map(|answer| answer.into_inner().status())
    };
    assert_eq!(check().await.unwrap(), ServingStatus::Serving);
    served.stop();
    loop {
        let command = timeout(PATIENCE, stream.message()).await.expect("a command comes").unwrap().unwrap();
        if let Some(Command::GoAway(_)) = command.command {
            break;
        }
    }
    // The stream is still here, so the instance still answers.
    assert_eq!(check().await.unwrap(), ServingStatus::NotServing);
    let ready = get(&served, "/readyz").await;
    assert!(ready.starts_with("HTTP/1.1 503") && ready.contains("stopping"), "{ready}");
    drop(stream);
    let link = served.link.clone();
    served.ended().await.unwrap();
    assert_eq!(link.get(&leader).await.unwrap().0, None, "the leadership is free at once");
}
