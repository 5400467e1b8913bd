//! The rest of a lease, where it is certain which of etcd's leaders has answered.
//!
//! A member asks the leader that it knows. For about an election's time that may be one that was deposed: it does not
//! know that its successor kept the lease alive, and reports too little. etcd stamps the answer with the term that the
//! member knows once the answer is there, so the stamp alone proves nothing. A linearizable read before it, the answer and a
//! linearizable read after it, all by one member and of one term, do: a member that knows the term asks its leader.

use std::time::Duration;

use bytes::Bytes;
use kafka_assigner_types::kv::LeaseId;
use tonic::{Response, Status};

use super::connection::MemberChannel;
use super::wire::{LeaseTimeToLiveRequest, LeaseTimeToLiveResponse, RangeRequest, ResponseHeader};

/// The answer about a lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LeaseRest {
    /// It is over, which is reported only once it is decided.
    Over,
    /// So much is left of it.
    Left(Duration),
    /// etcd's leader changed meanwhile: nobody knows.
    Doubtful,
}

/// Asks the member behind `link` for the rest of `lease`. `key` is any key that may be read.
pub(super) async fn rest(
    link: MemberChannel,
    lease: LeaseId,
    key: Bytes,
) -> Result<Response<LeaseRest>, Status> {
    let read = RangeRequest { key, limit: 1, keys_only: true, ..RangeRequest::default() };
    let before = link.kv().range(link.request(read.clone())).await?.into_inner().header;
    let request = LeaseTimeToLiveRequest { id: lease.0 };
    let answer = link.lease().lease_time_to_live(link.request(request)).await?.into_inner();
    let Some(left) = time_left(&answer) else { return Ok(Response::new(LeaseRest::Over)) };
    let after = link.kv().range(link.request(read)).await?.into_inner().header;
    let is_certain = is_of_one_term([before, answer.header, after]);
    Ok(Response::new(if is_certain { LeaseRest::Left(left) } else { LeaseRest::Doubtful }))
}

fn is_of_one_term(headers: [Option<ResponseHeader>; 3]) -> bool {
    let terms = headers.map(|header| header.map_or(0, |header| header.raft_term));
    terms[0] != 0 && terms.iter().all(|term| *term == terms[0])
}

/// etcd cuts the fraction off; adding a second instead makes sure that nobody takes a lease for over that
/// still runs. No lease has more left than it was granted.
fn time_left(answer: &LeaseTimeToLiveResponse) -> Option<Duration> {
    let seconds = u64::try_from(answer.ttl).ok()?;
    Some(Duration::from_secs((seconds + 1).min(answer.granted_ttl.unsigned_abs())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_to_live_is_rounded_up() {
        let left = |ttl, granted_ttl| {
            time_left(&LeaseTimeToLiveResponse { ttl, granted_ttl, ..LeaseTimeToLiveResponse::default() })
        };
        assert_eq!(left(4, 10), Some(Duration::from_secs(5)));
        assert_eq!(left(10, 10), Some(Duration::from_secs(10)), "just renewed");
        assert_eq!(left(0, 10), Some(Duration::from_secs(1)), "etcd has not ended it yet");
        assert_eq!(left(-1, 0), None);
    }

    #[test]
    fn a_rest_counts_only_between_two_reads_of_the_same_term() {
        let of = |terms: [u64; 3]| {
            is_of_one_term(
                terms.map(|raft_term| Some(ResponseHeader { raft_term, ..ResponseHeader::default() })),
            )
        };
        assert!(of([4, 4, 4]));
        for terms in [[3, 4, 4], [4, 4, 5], [4, 3, 4], [0, 0, 0]] {
            assert!(!of(terms), "{terms:?}");
        }
        assert!(!is_of_one_term([None, None, None]));
    }
}
