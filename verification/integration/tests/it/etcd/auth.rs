//! Users and passwords.

use std::time::Duration;

use kafka_assigner_rig::Etcd;
use kafka_assigner_store::etcd::Password;
use kafka_assigner_store::{Error, Store};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::{
    EtcdOptions, EtcdStore, Op, PATIENCE, Txn, error_within, hasty, insist, private_etcd, put, store,
    values_to,
};

/// Makes a request to etcd's JSON gateway, with a token if there is one: our cut of its API can't manage
/// users, and needn't.
async fn post(etcd: &Etcd, token: &str, path: &str, json: &str) -> String {
    let endpoint = etcd.endpoint();
    let mut stream = TcpStream::connect(endpoint.trim_start_matches("http://")).await.unwrap();
    let length = json.len();
    // Old versions take an empty token for a wrong one.
    let authorization = if token.is_empty() { String::new() } else { format!("Authorization: {token}\r\n") };
    let request = format!(
        "POST /v3/auth/{path} HTTP/1.1\r\nHost: localhost\r\n{authorization}\
         Content-Length: {length}\r\nConnection: close\r\n\r\n{json}"
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{path}: {answer}");
    answer
}

/// Switches authentication on, with a user `root` who may do all and a user `guest` who may do nothing.
async fn lock(etcd: &Etcd) {
    post(etcd, "", "user/add", r#"{"name": "root", "password": "secret"}"#).await;
    post(etcd, "", "user/add", r#"{"name": "guest", "password": "guest"}"#).await;
    post(etcd, "", "role/add", r#"{"name": "root"}"#).await;
    post(etcd, "", "user/grant", r#"{"user": "root", "role": "root"}"#).await;
    post(etcd, "", "enable", "{}").await;
}

/// The same, with a user `few` who may read and write what begins with `/a/`, and nothing else.
async fn lock_to_a_prefix(etcd: &Etcd) {
    post(etcd, "", "user/add", r#"{"name": "few", "password": "few"}"#).await;
    post(etcd, "", "role/add", r#"{"name": "one-prefix"}"#).await;
    // "/a/" up to "/a0", as the gateway wants bytes.
    let range = r#"{"permType": "READWRITE", "key": "L2Ev", "range_end": "L2Ew"}"#;
    post(etcd, "", "role/grant", &format!(r#"{{"name": "one-prefix", "perm": {range}}}"#)).await;
    post(etcd, "", "user/grant", r#"{"user": "few", "role": "one-prefix"}"#).await;
    lock(etcd).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_user_who_may_read_and_write_one_prefix_has_a_store() {
    let Some(etcd) = private_etcd() else { return };
    lock_to_a_prefix(&etcd).await;
    let few = store_as(&etcd, "few", "few");
    let start = put(&few, "/a/k", "1").await.unwrap();
    let mut watch = few.watch(b"/a/", start).await.unwrap();
    assert_eq!(values_to(&mut watch, start).await, ["1"]);
    let lease = few.grant(PATIENCE).await.unwrap();
    let leased = Txn::guarded(Vec::new(), vec![Op::put_leased("/a/leased", "2", lease.id)]);
    let written = few.txn(leased).await.unwrap().revision;
    assert_eq!(values_to(&mut watch, written).await, ["2"]);
    assert_eq!(few.range(b"/a/").await.unwrap().records.len(), 2);
    assert_eq!(few.keep_alive(lease.id).await.unwrap(), lease.ttl);
    assert!(few.time_to_live(lease.id).await.unwrap().is_some());
    few.revoke(lease.id).await.unwrap();
    assert_eq!(few.alarms().await.unwrap(), Vec::<String>::new(), "what is denied is left out");
    assert!(matches!(few.get(b"/b").await.err(), Some(Error::Denied(_))));
}

fn store_as(etcd: &Etcd, user: &str, password: &str) -> EtcdStore {
    log_in(EtcdOptions::new([etcd.endpoint()]), user, password)
}

fn log_in(mut options: EtcdOptions, user: &str, password: &str) -> EtcdStore {
    options.user = Some(user.to_owned());
    options.password = Some(Password(password.to_owned()));
    store(&options)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_password_opens_the_store_and_nothing_else_does() {
    let Some(etcd) = private_etcd() else { return };
    lock(&etcd).await;
    let strangers = [
        store(&EtcdOptions::new([etcd.endpoint()])),
        store_as(&etcd, "root", "wrong"),
        store_as(&etcd, "guest", "guest"),
    ];
    for stranger in strangers {
        let [read, written] = [stranger.get(b"/a").await.err(), put(&stranger, "/a", "").await.err()];
        assert!(matches!(read, Some(Error::Denied(_))), "{read:?}");
        assert!(matches!(written, Some(Error::Denied(_))), "{written:?}");
        let watched = stranger.watch(b"/a", super::Revision(1)).await.err();
        assert!(matches!(watched, Some(Error::Denied(_))), "{watched:?}");
    }
    let told = store_as(&etcd, "root", "wrong").alarms().await.err();
    assert!(
        matches!(told, Some(Error::Denied(_))),
        "that is no lack of rights for the alarms alone: {told:?}"
    );
    let root = store_as(&etcd, "root", "secret");
    let start = put(&root, "/a", "1").await.unwrap();
    let mut watch = root.watch(b"/a", start).await.unwrap();
    assert_eq!(values_to(&mut watch, start).await, ["1"]);
    let lease = root.grant(PATIENCE).await.unwrap();
    assert_eq!(root.keep_alive(lease.id).await.unwrap(), lease.ttl);
    root.status().await.unwrap();
}

/// Makes etcd drop every token of `root`, by giving it the password that it has.
async fn drop_tokens(etcd: &Etcd) {
    change_password(etcd, "secret").await;
}

/// Gives `root`, whose password is `secret`, another one, with which etcd drops its tokens.
async fn change_password(etcd: &Etcd, password: &str) {
    let answer = post(etcd, "", "authenticate", r#"{"name": "root", "password": "secret"}"#).await;
    let (_, token) = answer.split_once(r#""token":""#).expect("there is a token");
    let (token, _) = token.split_once('"').expect("it is a string");
    let changed = format!(r#"{{"name": "root", "password": "{password}"}}"#);
    post(etcd, token, "user/changepw", &changed).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_password_that_changes_in_its_file_needs_no_restart() {
    let Some(etcd) = private_etcd() else { return };
    lock(&etcd).await;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("password");
    std::fs::write(&file, "secret\n").unwrap();
    let mut options = EtcdOptions::new([etcd.endpoint()]);
    options.user = Some("root".to_owned());
    options.password_file = Some(file.clone());
    let root = store(&options);
    let start = put(&root, "/a", "before").await.unwrap();
    let mut watch = root.watch(b"/a", start.next()).await.unwrap();

    change_password(&etcd, "renewed").await;

    let refused = put(&root, "/a", "too early").await.err();
    assert!(matches!(refused, Some(Error::Denied(_))), "the file has the old password: {refused:?}");
    std::fs::write(&file, "renewed\n").unwrap();
    let after = put(&root, "/a", "after").await.unwrap();
    assert_eq!(values_to(&mut watch, after).await, ["after"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_token_that_etcd_dropped_is_renewed_unnoticed() {
    let Some(mut etcd) = private_etcd() else { return };
    lock(&etcd).await;
    let root = store_as(&etcd, "root", "secret");
    let lease = root.grant(Duration::from_secs(20)).await.unwrap();
    let start = put(&root, "/a", "0").await.unwrap();
    let mut watch = root.watch(b"/a", start.next()).await.unwrap();
    root.keep_alive(lease.id).await.unwrap();

    drop_tokens(&etcd).await;

    let mut second = root.watch(b"/a", start.next()).await.unwrap();
    let after = put(&root, "/a", "after").await.unwrap();
    assert_eq!(values_to(&mut watch, after).await, ["after"]);
    assert_eq!(values_to(&mut second, after).await, ["after"]);
    assert_eq!(root.keep_alive(lease.id).await.unwrap(), lease.ttl);

    drop_tokens(&etcd).await;
    etcd.restart().unwrap();

    let last = insist(|| put(&root, "/a", "last")).await;
    assert_eq!(values_to(&mut watch, last).await.last().unwrap(), "last");
    assert_eq!(insist(|| root.keep_alive(lease.id)).await, lease.ttl);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_write_whose_log_in_was_not_answered_was_not_sent() {
    let Some(etcd) = private_etcd() else { return };
    lock(&etcd).await;
    let root = log_in(hasty([etcd.endpoint()]), "root", "secret");

    etcd.freeze().unwrap();

    let error = error_within(PATIENCE, put(&root, "/a", "1")).await;
    assert!(matches!(error, Error::Unavailable { .. }), "nothing can have happened: {error:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_password_is_no_hindrance_where_nobody_asks_for_it() {
    let Some(etcd) = private_etcd() else { return };
    let root = store_as(&etcd, "root", "secret");
    put(&root, "/a", "1").await.unwrap();

    lock(&etcd).await;

    insist(|| put(&root, "/a", "2")).await;
}
