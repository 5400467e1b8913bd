//! TLS and logins at a real broker.

use std::fs;
use std::time::Duration;

use kafka_assigner_kafka::{Mechanism, Options, PasswordOrigin};

use super::secured::{Authority, UNUSUAL, USER, ask, login};

fn options(address: &str, tls: Option<kafka_assigner_kafka::BrokerTls>) -> Options {
    // A busy machine may take long for a first handshake in Java.
    let patience = Duration::from_secs(10);
    Options { tls, patience, ..Options::new(vec![address.parse().unwrap()]) }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_secured_broker_is_asked_by_whoever_it_trusts_and_who_trusts_it() {
    let (authority, stranger) = (Authority::new(), Authority::new());
    let Some(brokers) = authority.brokers(1, true) else { return };
    let identity = || Some(authority.sign("client", "localhost"));
    let good = options(&brokers.secured_address(0), authority.tls(identity()));

    for mechanism in [Mechanism::Plain, Mechanism::ScramSha256, Mechanism::ScramSha512] {
        let known = Options { login: login(mechanism, USER), ..good.clone() };
        assert_eq!(ask(&known, "orders").await.unwrap(), 1, "{mechanism}");
        let wrong = Options { login: login(mechanism, (USER.0, "another")), ..good.clone() };
        let error = ask(&wrong, "orders").await.unwrap_err();
        let words = format!("{} {error:?}", error.failures[0]);
        assert!(words.contains("refuses the login of assigner") && !words.contains("another\""), "{words}");
    }
    // Byte for byte, as Kafka's own tool stored it.
    let unusual = Options { login: login(Mechanism::ScramSha512, UNUSUAL), ..good.clone() };
    assert_eq!(ask(&unusual, "orders").await.unwrap(), 1);

    let file = authority.folder.path().join("password");
    fs::write(&file, format!("{}\n", USER.1)).unwrap();
    let mut from_file = login(Mechanism::ScramSha256, USER);
    from_file.iter_mut().for_each(|login| login.password = PasswordOrigin::File(file.clone()));
    assert_eq!(ask(&Options { login: from_file, ..good.clone() }, "orders").await.unwrap(), 1);

    let login = login(Mechanism::ScramSha256, USER);
    for (tls, what) in [
        (authority.tls(None), "no certificate is shown"),
        (authority.tls(Some(stranger.sign("client", "localhost"))), "a stranger's is shown"),
        (stranger.tls(identity()), "the broker's is a stranger's"),
        (None, "plain TCP"),
    ] {
        let options = Options { tls, login: login.clone(), ..good.clone() };
        let error = ask(&options, "orders").await.unwrap_err();
        assert!(matches!(error.label(), "tls" | "closed" | "malformed"), "{what}: {error:?}");
    }
    let nobody = ask(&good, "orders").await.unwrap_err();
    assert_eq!(nobody.label(), "closed", "{nobody:?}");
}
