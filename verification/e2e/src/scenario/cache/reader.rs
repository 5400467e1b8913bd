//! A reader of the caches, over HTTP.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use kafka_assigner_rig::clock::Moment;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::verdict::CacheRead;
use super::{KEYS, PARTITIONS, TOPIC};

/// A cache that runs answers within milliseconds, and one that stops may never.
const ANSWER: Duration = Duration::from_secs(2);

/// Nobody may own the partition for a moment.
const PAUSE: Duration = Duration::from_millis(2);

/// Asks one question after the other, and remembers who has answered for which partition.
#[derive(Debug)]
pub(super) struct Reader {
    caches: Arc<[SocketAddr]>,
    owners: Vec<usize>,
    reads: Vec<CacheRead>,
    asked_again: usize,
}

/// The answers that a reader has got.
#[derive(Debug, Default)]
pub(super) struct ReaderResult {
    pub(super) reads: Vec<CacheRead>,
    pub(super) asked_again: usize,
}

/// An answer as a cache gives it.
#[derive(Debug, PartialEq, Eq)]
struct Answer {
    epoch: u64,
    offset: Option<i64>,
}

impl Reader {
    pub(super) fn new(caches: Arc<[SocketAddr]>) -> Self {
        Self { caches, owners: vec![0; PARTITIONS as usize], reads: Vec::new(), asked_again: 0 }
    }

    /// Asks until it is told to stop, beginning with the question of this number.
    pub(super) async fn read(mut self, first: usize, stop: CancellationToken) -> ReaderResult {
        for number in first.. {
            if stop.is_cancelled() {
                break;
            }
            self.ask(number % PARTITIONS as usize, format!("k{}", number / PARTITIONS as usize % KEYS)).await;
        }
        ReaderResult { reads: self.reads, asked_again: self.asked_again }
    }

    /// Asks the last owner of a partition; the next question goes to another cache where it does not answer.
    async fn ask(&mut self, partition: usize, key: String) {
        let (cache, begun) = (self.owners[partition], Moment::now());
        let path = format!("/{TOPIC}/{partition}/{key}");
        let answer = timeout(ANSWER, answer(self.caches[cache], &path)).await.ok().and_then(Result::ok);
        let Some(Answer { epoch, offset }) = answer.as_deref().and_then(parse) else {
            self.owners[partition] = (cache + 1) % self.caches.len();
            self.asked_again += 1;
            tokio::time::sleep(PAUSE).await;
            return;
        };
        let (ended, partition) = (Moment::now(), u32::try_from(partition).unwrap_or(u32::MAX));
        self.reads.push(CacheRead { begun, ended, partition, key, epoch, offset });
    }
}

async fn answer(cache: SocketAddr, path: &str) -> std::io::Result<String> {
    let mut stream = TcpStream::connect(cache).await?;
    let request = format!("GET {path} HTTP/1.1\r\nHost: {cache}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await?;
    Ok(answer)
}

/// An answer of the partition's owner; `None` = it is none.
fn parse(text: &str) -> Option<Answer> {
    let (head, _) = text.split_once("\r\n\r\n")?;
    let status = head.split(' ').nth(1)?;
    let header = |name: &str| head.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
    let epoch = header("x-epoch")?.parse().ok()?;
    match status {
        "200" => Some(Answer { epoch, offset: Some(header("x-offset")?.parse().ok()?) }),
        "404" => Some(Answer { epoch, offset: None }),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_of_owners_are_told_from_others() {
        let good = "HTTP/1.1 200 OK\r\nx-epoch: 7\r\nx-offset: 30\r\ncontent-length: 1\r\n\r\n4";
        assert_eq!(parse(good), Some(Answer { epoch: 7, offset: Some(30) }));
        let missing = "HTTP/1.1 404 Not Found\r\nx-epoch: 7\r\n\r\n";
        assert_eq!(parse(missing), Some(Answer { epoch: 7, offset: None }));
        for other in ["", "HTTP/1.1 421 Misdirected Request\r\n\r\n", "HTTP/1.1 200 OK\r\n\r\n4", &good[..30]]
        {
            assert_eq!(parse(other), None, "{other}");
        }
    }
}
