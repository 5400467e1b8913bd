//! Brokers that are slow, old, silent, or none.

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use super::*;
use crate::options::{Mechanism, PasswordOrigin};
use crate::sasl::{TokenFuture, TokenProvider};
use crate::testing::FakeBroker;

fn options() -> Options {
    Options { patience: Duration::from_millis(300), ..Options::new(Vec::new()) }
}

async fn open(broker: &BrokerAddress) -> Result<BrokerConnection, Error> {
    Connector::new(&options()).unwrap().open(broker).await
}

/// A port at which everything is answered with `bytes`.
async fn answering(bytes: &'static [u8]) -> BrokerAddress {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = BrokerAddress { host: "127.0.0.1".to_owned(), port: listener.local_addr().unwrap().port() };
    tokio::spawn(async move {
        while let Ok((mut client, _)) = listener.accept().await {
            let mut request = [0; 1024];
            let _length = client.read(&mut request).await;
            let _sent = client.write_all(bytes).await;
        }
    });
    address
}

async fn refusal(broker: &BrokerAddress) -> String {
    open(broker).await.expect_err("it fails").to_string()
}

#[tokio::test]
async fn versions_are_agreed_on() {
    let broker = FakeBroker::start().await.unwrap();
    broker.topic("orders", 3, 7);
    for (newest, used) in [(None, 13), (Some(99), 13), (Some(9), 9)] {
        broker.state().newest_metadata = newest;
        let mut connection = open(&broker.address).await.unwrap();
        let (answer, version) = connection.call(&MetadataRequest::of_names(["orders"])).await.unwrap();
        assert_eq!((version, answer.topics[0].partitions.len()), (used, 3));
    }
}

#[tokio::test]
async fn a_broker_that_does_not_know_the_request_is_asked_in_an_older_version() {
    // Version 0: the error, and one API: Metadata, 0 to 9.
    let broker = scripted([&[0, 35, 0, 0, 0, 0], &[0, 0, 0, 0, 0, 1, 0, 3, 0, 0, 0, 9]]).await;
    let connection = open(&broker).await.unwrap();
    assert_eq!(connection.version::<MetadataRequest>().unwrap(), 9);
}

/// A port that answers request after request with these bodies behind a header.
async fn scripted<const N: usize>(bodies: [&'static [u8]; N]) -> BrokerAddress {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = BrokerAddress { host: "127.0.0.1".to_owned(), port: listener.local_addr().unwrap().port() };
    tokio::spawn(async move {
        let (mut client, _) = listener.accept().await.unwrap();
        for body in bodies {
            let length = client.read_u32().await.unwrap();
            let mut request = vec![0; length as usize];
            client.read_exact(&mut request).await.unwrap();
            let answer = [&(body.len() as u32 + 4).to_be_bytes()[..], &request[4..8], body].concat();
            client.write_all(&answer).await.unwrap();
        }
        std::future::pending::<()>().await;
    });
    address
}

#[tokio::test]
async fn a_broker_that_is_too_old_is_told_so() {
    let broker = FakeBroker::start().await.unwrap();
    broker.state().newest_metadata = Some(8);
    let words = refusal(&broker.address).await;
    let expected = "is older than Kafka 2.4.1 (it knows Metadata in the versions 0 to 8), \
                    which is the oldest that is supported; upgrade the brokers";
    assert!(words.ends_with(expected), "{words}");
}

#[tokio::test]
async fn a_silent_broker_is_left_in_time() {
    let broker = FakeBroker::start().await.unwrap();
    broker.state().silent = true;
    let since = Instant::now();
    let words = refusal(&broker.address).await;
    assert!(words.contains("did not answer ApiVersions within 0.3 s"), "{words}");
    assert!(since.elapsed() < Duration::from_secs(2), "{:?}", since.elapsed());
}

#[tokio::test]
async fn lengths_are_not_believed() {
    let words = refusal(&answering(&[0x7f, 0xff, 0xff, 0xff]).await).await;
    assert!(
        words.contains("answers ApiVersions with 2147483647 bytes, and at most 65536 are read"),
        "{words}"
    );
    let words = refusal(&answering(&[0xff, 0xff, 0xff, 0xff]).await).await;
    assert!(words.contains("with -1 bytes"), "{words}");
    // A length that is allowed, and less behind it.
    let words = refusal(&answering(&[0, 0, 0, 100, 1, 2]).await).await;
    assert!(words.contains("closed the connection"), "{words}");
    let words = refusal(&answering(&[0, 0, 0, 1, 1]).await).await;
    assert!(words.contains("malformed"), "{words}");
}

#[tokio::test]
async fn ports_that_are_something_else_are_named() {
    let words = refusal(&answering(&[0x15, 3, 3, 0, 2, 2, 70]).await).await;
    assert!(words.contains("set kafka_tls"), "{words}");
    let words = refusal(&answering(b"HTTP/1.1 400 Bad Request\r\n\r\n").await).await;
    assert!(words.contains("at most 65536 are read"), "{words}");
    let words = refusal(&answering(b"").await).await;
    assert!(words.contains("check whether its port wants TLS or a login"), "{words}");
    let words = refusal(&"127.0.0.1:1".parse().unwrap()).await;
    assert!(words.contains("can't be reached"), "{words}");
}

#[tokio::test]
async fn tls_against_a_port_without_is_an_error_in_time() {
    let folder = tempfile::tempdir().unwrap();
    let signed = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let ca = folder.path().join("ca.pem");
    std::fs::write(&ca, signed.cert.pem()).unwrap();
    let tls = crate::options::BrokerTls { ca: Some(ca), identity: None };
    let connector = Connector::new(&Options { tls: Some(tls), ..options() }).unwrap();
    let plain = FakeBroker::start().await.unwrap();
    let error = connector.open(&plain.address).await.err().unwrap();
    assert!(matches!(error, Error::Tls { .. } | Error::NoAnswer { .. }), "{error}");
    let other = connector.open(&answering(b"\0\0\0\x0a").await).await.err().unwrap();
    assert!(matches!(other, Error::Tls { .. }), "{other}");
}

/// Versions 0: Metadata, `SaslHandshake` 0 to 1, `SaslAuthenticate` 0 to 1.
const WITH_LOGIN: &[u8] = &[0, 0, 0, 0, 0, 3, 0, 3, 0, 0, 0, 9, 0, 17, 0, 0, 0, 1, 0, 36, 0, 0, 0, 1];
const TOO_NEW: &[u8] = &[0, 35, 0, 0, 0, 0];

fn login(mechanism: Mechanism) -> Login {
    Login { mechanism, user: "me".to_owned(), password: PasswordOrigin::Given("hunter2".to_owned()) }
}

async fn refused_login(mechanism: Mechanism, broker: &BrokerAddress) -> String {
    let options = Options { login: Some(login(mechanism)), ..options() };
    let error = Connector::new(&options).unwrap().open(broker).await.expect_err("it fails");
    let words = format!("{error} {error:?}");
    assert!(!words.contains("hunter2"), "{words}");
    words
}

#[tokio::test]
async fn a_login_that_is_refused_says_by_whom_and_why() {
    let other =
        scripted([TOO_NEW, WITH_LOGIN, &[0, 33, 0, 0, 0, 1, 0, 5, b'P', b'L', b'A', b'I', b'N']]).await;
    let words = refused_login(Mechanism::ScramSha256, &other).await;
    assert!(words.contains("set kafka_sasl_mechanism to one of [\"PLAIN\"]"), "{words}");
    // Error 58, the words "no", no bytes, no lifetime.
    let refused: &[u8] = &[0, 58, 0, 2, b'n', b'o', 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    let broker = scripted([TOO_NEW, WITH_LOGIN, &[0, 0, 0, 0, 0, 0], refused]).await;
    let words = refused_login(Mechanism::Plain, &broker).await;
    assert!(words.contains("refuses the login of me by PLAIN (no); check kafka_user"), "{words}");
}

#[tokio::test]
async fn a_broker_that_answers_scram_with_nonsense_is_found_out() {
    let nonsense: &[u8] = &[0, 0, 0, 0, 0, 0, 0, 3, b'r', b'=', b'x', 0, 0, 0, 0, 0, 0, 0, 0];
    let broker = scripted([TOO_NEW, WITH_LOGIN, &[0, 0, 0, 0, 0, 0], nonsense]).await;
    let words = refused_login(Mechanism::ScramSha512, &broker).await;
    assert!(words.contains("does not prove that it knows the password of me"), "{words}");
}

#[tokio::test]
async fn a_session_that_ends_soon_is_not_used_to_its_end() {
    // No error, no words, no bytes, one second.
    let done: &[u8] = &[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 3, 0xe8];
    let broker = scripted([TOO_NEW, WITH_LOGIN, &[0, 0, 0, 0, 0, 0], done]).await;
    let options = Options { login: Some(login(Mechanism::Plain)), ..options() };
    let connection = Connector::new(&options).unwrap().open(&broker).await.unwrap();
    assert!(connection.is_logged_in());
    tokio::time::pause();
    tokio::time::advance(Duration::from_millis(900)).await;
    assert!(!connection.is_logged_in());
    assert!(!connection.into_link().is_usable(), "a pool opens another one, which logs in anew");
}

/// A provider that counts how often it is asked.
#[derive(Default)]
struct Tokens(std::sync::atomic::AtomicU32);

impl TokenProvider for Tokens {
    fn token(&self) -> TokenFuture<'_> {
        let number = self.0.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        Box::pin(async move {
            if number < 2 { Ok(format!("secret-{number}")) } else { Err(std::io::Error::other("no more")) }
        })
    }
}

#[tokio::test]
async fn a_token_is_asked_for_at_every_login() {
    let done: &[u8] = &[0; 16];
    let why: &[u8] = &[0, 0, 0, 0, 0, 0, 0, 3, b'b', b'a', b'd', 0, 0, 0, 0, 0, 0, 0, 0];
    let refused: &[u8] = &[0, 58, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    let provider: Arc<dyn TokenProvider> = Arc::new(Tokens::default());
    let password = PasswordOrigin::Provider(provider);
    let login = Login { mechanism: Mechanism::OAuthBearer, user: String::new(), password };
    let connector = Connector::new(&Options { login: Some(login), ..options() }).unwrap();
    let good = scripted([TOO_NEW, WITH_LOGIN, &[0, 0, 0, 0, 0, 0], done]).await;
    assert!(connector.open(&good).await.unwrap().is_logged_in());
    let bad = scripted([TOO_NEW, WITH_LOGIN, &[0, 0, 0, 0, 0, 0], why, refused]).await;
    let error = connector.open(&bad).await.unwrap_err();
    let words = format!("{error} {error:?} {connector:?}");
    assert!(words.contains("by OAUTHBEARER (bad)") && !words.contains("secret"), "{words}");
    let error = connector.open(&scripted([TOO_NEW, WITH_LOGIN]).await).await.unwrap_err();
    assert!(matches!(error, Error::Token { .. }), "{error}");
}

#[tokio::test]
async fn a_password_file_that_is_gone_is_named() {
    let broker = scripted([TOO_NEW, WITH_LOGIN]).await;
    let password = PasswordOrigin::File("/no/such/file".into());
    let login = Login { password, ..login(Mechanism::Plain) };
    let error = Connector::new(&Options { login: Some(login), ..options() }).unwrap().open(&broker).await;
    assert_eq!(error.err().unwrap().to_string(), "the password file /no/such/file can't be read");
}
