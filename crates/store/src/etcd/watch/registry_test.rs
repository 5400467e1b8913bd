//! The registry against what etcd may say.

use tokio::sync::mpsc::Receiver;

use super::*;
use crate::etcd::wire::event::EventType;
use crate::etcd::wire::{Event, KeyValue, ResponseHeader};

type Items = Receiver<Result<WatchBatch, Error>>;
type Opened = oneshot::Receiver<Result<(), Error>>;

fn subscription(from: u64, room: usize) -> (EtcdWatch, Items, Opened) {
    let (items, delivered) = mpsc::channel(room);
    let (ready, opened) = oneshot::channel();
    (EtcdWatch::new("/a/".into(), Revision(from), items, ready), delivered, opened)
}

fn created(request: &WatchRequest) -> (i64, i64) {
    match &request.request_union {
        Some(RequestUnion::CreateRequest(create)) => (create.watch_id, create.start_revision),
        other => panic!("{other:?}"),
    }
}

fn answer(revision: i64) -> WatchResponse {
    WatchResponse {
        header: Some(ResponseHeader { revision, ..ResponseHeader::default() }),
        ..WatchResponse::default()
    }
}

fn confirmed(watch_id: i64, revision: i64) -> WatchResponse {
    WatchResponse { watch_id, created: true, ..answer(revision) }
}

fn events(watch_id: i64, revisions: &[i64]) -> WatchResponse {
    let put = |revision: &i64| Event {
        r#type: EventType::Put.into(),
        kv: Some(KeyValue { key: "/a/k".into(), mod_revision: *revision, ..KeyValue::default() }),
    };
    WatchResponse { watch_id, events: revisions.iter().map(put).collect(), ..answer(1_000) }
}

fn progress(revision: i64) -> WatchResponse {
    WatchResponse { watch_id: -1, ..answer(revision) }
}

fn receive(registry: &mut WatchRegistry, response: WatchResponse) -> Option<WatchRequest> {
    registry.receive(response).unwrap()
}

/// A watch from `from`, confirmed while the store stood at `at`.
fn watching(registry: &mut WatchRegistry, from: u64, at: i64) -> (i64, Items) {
    let (subscription, items, _opened) = subscription(from, 10);
    let (id, _) = created(&registry.place(subscription));
    receive(registry, confirmed(id, at));
    (id, items)
}

fn revision_of(items: &mut Items) -> u64 {
    items.try_recv().unwrap().unwrap().revision.0
}

#[test]
fn a_watch_starts_early_and_delivers_what_was_asked_for() {
    let mut registry = WatchRegistry::default();
    let (subscription, mut items, mut opened) = subscription(7, 10);
    let (id, start) = created(&registry.place(subscription));
    assert_eq!(start, 6);
    assert!(opened.try_recv().is_err());
    receive(&mut registry, confirmed(id, 9));
    opened.try_recv().unwrap().unwrap();
    receive(&mut registry, events(id, &[6, 7, 7, 9]));
    let batch = items.try_recv().unwrap().unwrap();
    assert_eq!((batch.changes.len(), batch.revision), (3, Revision(9)));
}

#[test]
fn a_new_stream_goes_on_after_the_last_delivery() {
    let mut registry = WatchRegistry::default();
    let (id, mut items) = watching(&mut registry, 5, 5);
    receive(&mut registry, events(id, &[5, 8]));
    registry.disconnect();
    let requests = registry.tidy();
    let (again, start) = created(&requests[0]);
    assert_eq!((requests.len(), start), (1, 8), "8 once more, one early");
    assert_ne!(again, id);
    receive(&mut registry, confirmed(again, 12));
    receive(&mut registry, events(id, &[9]));
    receive(&mut registry, events(again, &[8, 10]));
    assert_eq!(revision_of(&mut items), 8);
    let batch = items.try_recv().unwrap().unwrap();
    assert_eq!((batch.changes.len(), batch.revision), (1, Revision(10)), "the old stream's 9 is nobody's");
}

#[test]
fn a_compaction_ends_a_watch_with_what_is_left() {
    let mut registry = WatchRegistry::default();
    let (id, mut items) = watching(&mut registry, 5, 50);
    let compacted = WatchResponse { watch_id: id, canceled: true, compact_revision: 40, ..answer(50) };
    assert!(receive(&mut registry, compacted).is_none());
    let error = items.try_recv().unwrap().unwrap_err();
    assert!(matches!(error, Error::Compacted { asked: Revision(5), oldest: Revision(40) }), "{error:?}");
    assert!(items.try_recv().is_err() && registry.is_empty());
}

#[test]
fn a_compaction_right_below_a_watch_is_not_its_end() {
    let mut registry = WatchRegistry::default();
    let (id, mut items) = watching(&mut registry, 40, 50);
    let compacted = WatchResponse { watch_id: id, canceled: true, compact_revision: 40, ..answer(50) };
    let again = receive(&mut registry, compacted).unwrap();
    assert_eq!(created(&again).1, 40);
    assert!(items.try_recv().is_err());
}

#[test]
fn progress_moves_every_watch_that_it_speaks_of() {
    let mut registry = WatchRegistry::default();
    let (_, mut first) = watching(&mut registry, 11, 10);
    registry.progress_request().unwrap();
    let (_, mut second) = watching(&mut registry, 5, 15);
    receive(&mut registry, progress(15));
    assert_eq!(revision_of(&mut first), 15);
    assert!(second.try_recv().is_err(), "it was asked before the second watch began");
    registry.progress_request().unwrap();
    receive(&mut registry, progress(15));
    assert_eq!(revision_of(&mut second), 15);
    assert!(first.try_recv().is_err(), "nothing new");
}

#[test]
fn progress_beyond_a_watchs_beginning_speaks_of_it() {
    let mut registry = WatchRegistry::default();
    watching(&mut registry, 2, 2);
    registry.progress_request().unwrap();
    let (_, mut items) = watching(&mut registry, 5, 15);
    receive(&mut registry, progress(16));
    assert_eq!(revision_of(&mut items), 16);
}

#[test]
fn a_slow_reader_is_parked_and_misses_nothing() {
    let mut registry = WatchRegistry::default();
    let (slow, mut items, _opened) = subscription(1, 3);
    let (id, _) = created(&registry.place(slow));
    receive(&mut registry, confirmed(id, 1));
    assert!(receive(&mut registry, events(id, &[2])).is_none());
    assert!(receive(&mut registry, events(id, &[3])).is_none());
    let cancel = receive(&mut registry, events(id, &[4])).unwrap();
    assert!(matches!(cancel.request_union, Some(RequestUnion::CancelRequest(_))));
    assert!(registry.tidy().is_empty(), "still full");
    assert_eq!([revision_of(&mut items), revision_of(&mut items)], [2, 3]);
    assert_eq!(created(&registry.tidy()[0]).1, 3, "4 is next");
}

#[test]
fn a_full_queue_has_room_for_the_error() {
    let mut registry = WatchRegistry::default();
    let (slow, mut items, _opened) = subscription(1, 2);
    let (id, _) = created(&registry.place(slow));
    receive(&mut registry, confirmed(id, 1));
    receive(&mut registry, events(id, &[2]));
    receive(&mut registry, events(id, &[3]));
    registry.fail_all(|| Error::NoSpace);
    assert_eq!(revision_of(&mut items), 2);
    assert!(matches!(items.try_recv().unwrap(), Err(Error::NoSpace)));
}

#[test]
fn a_dropped_watch_is_cancelled() {
    let mut registry = WatchRegistry::default();
    let (_, items) = watching(&mut registry, 1, 1);
    drop(items);
    let requests = registry.tidy();
    assert!(matches!(requests[0].request_union, Some(RequestUnion::CancelRequest(_))));
    assert!(registry.is_empty());
}

#[test]
fn a_refusal_reaches_who_asked_although_it_has_no_id() {
    let mut registry = WatchRegistry::default();
    let (first, _items, mut opened) = subscription(1, 3);
    let (second, _kept, mut second_opened) = subscription(1, 3);
    registry.place(first);
    let (second, _) = created(&registry.place(second));
    let reason = "etcdserver: permission denied".to_owned();
    let refused = WatchResponse { canceled: true, cancel_reason: reason, ..confirmed(-1, 5) };
    receive(&mut registry, refused);
    assert!(matches!(opened.try_recv().unwrap(), Err(Error::Denied(_))));
    receive(&mut registry, confirmed(second, 5));
    second_opened.try_recv().unwrap().unwrap();
}

#[test]
fn an_aged_token_ends_the_stream_and_no_watch() {
    let mut registry = WatchRegistry::default();
    let (aged, _items, mut opened) = subscription(1, 3);
    registry.place(aged);
    let reason = "rpc error: etcdserver: invalid auth token".to_owned();
    let refused = WatchResponse { canceled: true, cancel_reason: reason, ..confirmed(-1, 5) };
    assert!(matches!(registry.receive(refused), Err(AttemptError::StaleToken(_))));
    registry.disconnect();
    let (id, _) = created(&registry.tidy()[0]);
    receive(&mut registry, confirmed(id, 5));
    opened.try_recv().unwrap().unwrap();
}
