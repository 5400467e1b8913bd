//! Both sides of the wire, next to each other.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::{BufMut as _, Bytes, BytesMut};
use futures::future::{BoxFuture, FutureExt as _, join_all};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::{CallError, Connection, LARGEST_FRAME, Service, serve};

/// Answers with the place of a request in the order of all, once it is let go on.
#[derive(Debug, Default)]
struct Places {
    taken: AtomicU64,
    gate: Arc<Notify>,
}

impl Service for Places {
    fn take(&self, request: Bytes) -> BoxFuture<'static, Bytes> {
        let place = self.taken.fetch_add(1, Ordering::SeqCst);
        let gate = self.gate.clone();
        async move {
            if request == "wait" {
                gate.notified().await;
            }
            Bytes::from(place.to_string())
        }
        .boxed()
    }
}

struct Served {
    address: String,
    service: Arc<Places>,
    stop: CancellationToken,
    serving: JoinHandle<()>,
}

async fn served() -> Served {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let (service, stop) = (Arc::new(Places::default()), CancellationToken::new());
    let serving = tokio::spawn(serve(listener, service.clone(), stop.clone()));
    Served { address, service, stop, serving }
}

#[tokio::test]
async fn requests_are_taken_in_the_order_in_which_they_were_asked() {
    let served = served().await;
    let connection = Connection::open(&served.address).await.unwrap();
    let answers = join_all((0..100).map(|_| connection.call(Bytes::from_static(b"go")))).await;
    let places: Vec<Bytes> = answers.into_iter().map(Result::unwrap).collect();
    assert_eq!(places, (0..100).map(|n| Bytes::from(n.to_string())).collect::<Vec<_>>());
}

#[tokio::test]
async fn one_that_leaves_answers_what_it_was_asked_and_takes_nothing_more() {
    let served = served().await;
    let connection = Connection::open(&served.address).await.unwrap();
    let mut asked = Box::pin(connection.call(Bytes::from_static(b"wait")));
    assert!((&mut asked).now_or_never().is_none());
    // The answer shows that the first request was taken too.
    connection.call(Bytes::from_static(b"go")).await.unwrap();
    served.stop.cancel();
    while connection.is_open() {
        tokio::task::yield_now().await;
    }
    assert_eq!(connection.call(Bytes::from_static(b"go")).await, Err(CallError::Unsent));
    served.service.gate.notify_one();
    assert_eq!(asked.await, Ok(Bytes::from_static(b"0")));
    served.serving.await.unwrap();
}

#[tokio::test]
async fn what_was_sent_over_a_connection_that_breaks_is_told_from_what_was_not() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let connection = Connection::open(&listener.local_addr().unwrap().to_string()).await.unwrap();
    let (mut stream, _) = listener.accept().await.unwrap();
    let mut asked = Box::pin(connection.call(Bytes::from_static(b"go")));
    assert!((&mut asked).now_or_never().is_none());
    stream.read_u8().await.unwrap();
    drop(stream);
    assert_eq!(asked.await, Err(CallError::Broken));
    while connection.is_open() {
        tokio::task::yield_now().await;
    }
    assert_eq!(connection.call(Bytes::from_static(b"go")).await, Err(CallError::Unsent));
}

#[tokio::test]
async fn a_frame_that_is_too_large_or_too_small_ends_its_connection_and_no_other() {
    let served = served().await;
    let good = Connection::open(&served.address).await.unwrap();
    let large = u32::try_from(LARGEST_FRAME).unwrap() + 1;
    for (length, body) in [(large, &b""[..]), (7, b"7 bytes")] {
        let mut bad = TcpStream::connect(&served.address).await.unwrap();
        let mut frame = BytesMut::new();
        frame.put_u32(length);
        frame.put_slice(body);
        bad.write_all(&frame).await.unwrap();
        let mut rest = Vec::new();
        // A reset is an end too.
        let _ = bad.read_to_end(&mut rest).await;
        assert!(rest.is_empty());
    }
    assert!(good.call(Bytes::from_static(b"go")).await.is_ok());
}
