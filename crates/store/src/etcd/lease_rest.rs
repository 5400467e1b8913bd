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
    let LeaseRest::Left(left) = stated(&answer) else { return Ok(Response::new(stated(&answer))) };
    let after = link.kv().range(link.request(read)).await?.into_inner().header;
    let is_certain = is_of_one_term([before, answer.header, after]);
    Ok(Response::new(if is_certain { LeaseRest::Left(left) } else { LeaseRest::Doubtful }))
}

fn is_of_one_term(headers: [Option<ResponseHeader>; 3]) -> bool {
    let terms = headers.map(|header| header.map_or(0, |header| header.raft_term));
    terms[0] != 0 && terms.iter().all(|term| *term == terms[0])
}

/// The rest that an answer states by itself.
///
/// etcd cuts the fraction off; adding a second instead makes sure that nobody takes a lease for over that still runs. No
/// lease has more left than it was granted. One that is overdue by a second or more, and that etcd knows all the same, is
/// doubtful: a member that leads ends it at once, and one that was frozen and is deposed counts without the renewals of
/// its successor.
fn stated(answer: &LeaseTimeToLiveResponse) -> LeaseRest {
    match u64::try_from(answer.ttl) {
        Ok(seconds) => {
            LeaseRest::Left(Duration::from_secs((seconds + 1).min(answer.granted_ttl.unsigned_abs())))
        }
        Err(_) if answer.granted_ttl > 0 => LeaseRest::Doubtful,
        // It was granted nothing: etcd does not know it.
        Err(_) => LeaseRest::Over,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(ttl: i64, granted_ttl: i64) -> LeaseRest {
        stated(&LeaseTimeToLiveResponse { ttl, granted_ttl, ..LeaseTimeToLiveResponse::default() })
    }

    #[test]
    fn a_time_to_live_is_rounded_up() {
        let left = |seconds| LeaseRest::Left(Duration::from_secs(seconds));
        assert_eq!(of(4, 10), left(5));
        assert_eq!(of(10, 10), left(10), "just renewed");
        assert_eq!(of(0, 10), left(1), "etcd has not ended it yet");
        assert_eq!(of(-1, 0), LeaseRest::Over, "etcd knows no such lease");
    }

    // A member of etcd that was frozen, and does not know yet that another one leads, answers without the renewals that
    // the other one gave.
    #[test]
    fn a_lease_that_is_overdue_and_not_ended_is_not_called_gone() {
        assert_eq!(of(-10, 30), LeaseRest::Doubtful);
        assert_eq!(of(-1, 30), LeaseRest::Doubtful);
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
