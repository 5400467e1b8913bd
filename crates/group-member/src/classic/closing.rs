//! Leaving the group.

use std::time::Duration;

use kafka_assigner_kafka::messages::{LeaveGroupRequest, LeavingMember};
use kafka_assigner_types::moment::Moment;

use super::{ClassicMember, ClassicRequest, ClassicState};
use crate::{AnswerFailure, MemberNotice, RequestNumber};

/// The longest reason that brokers take, in bytes.
const LONGEST_REASON: usize = 255;

/// The time that the coordinator has to let a member go.
const PATIENCE: Duration = Duration::from_secs(5);

/// A member that is being closed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Closing {
    /// It is over then, whatever is under way.
    pub(super) deadline: Moment,
}

impl ClassicMember {
    /// Closing wins over everything; a second time may only bring the end forward.
    pub(super) fn close(&mut self, deadline: Moment) {
        let earlier = self.closing.map_or(deadline, |closing| closing.deadline.min(deadline));
        if self.state != ClassicState::Over {
            self.closing = Some(Closing { deadline: earlier });
            self.target = None;
        }
    }

    /// Gives everything up, then leaves: a dynamic member says so, a static one only stops.
    pub(super) fn go_on_closing(&mut self) {
        if !self.owned.partitions.is_empty() {
            return self.revoke(self.owned.partitions.clone());
        }
        let has_left = self.options.instance.is_some() || (self.id.is_empty() && self.flights.join.is_none());
        if has_left {
            return self.end();
        }
        // Without an id the answer to the join must come first, or the broker keeps a member that nobody is.
        if self.flights.leave.is_none() {
            self.leave("the member is closed");
        }
    }

    /// Asks the coordinator to let the member go. False where it can't be asked.
    pub(super) fn leave(&mut self, reason: &str) -> bool {
        if self.id.is_empty() || !self.has_coordinator {
            return false;
        }
        let member = LeavingMember {
            member_id: self.id.clone(),
            group_instance_id: None,
            reason: Some(shortened(reason).to_owned()),
        };
        let request = LeaveGroupRequest {
            group_id: self.options.group.clone(),
            members: vec![member],
            ..LeaveGroupRequest::default()
        };
        self.flights.leave = Some(self.send(ClassicRequest::Leave(request), PATIENCE));
        true
    }

    /// Leaving is done, whatever the broker has said to it. Without an answer a member that closes tries again until its
    /// deadline, since the others wait for its session otherwise.
    pub(super) fn left(&mut self, number: RequestNumber, answer: Result<(), AnswerFailure>) {
        if self.flights.leave != Some(number) {
            return;
        }
        self.flights.leave = None;
        if answer.is_err() {
            self.lose_coordinator();
        } else if self.closing.is_some() {
            self.id.clear();
            self.membership = None;
        }
    }

    /// Nothing more is asked for. What is still owned is lost.
    pub(super) fn end(&mut self) {
        if self.state == ClassicState::Over {
            return;
        }
        self.is_lost |= !self.owned.partitions.is_empty();
        self.membership = None;
        self.stop_reading(&self.reading.clone());
        self.go_to(ClassicState::Over);
        self.tell(MemberNotice::Closed);
    }
}

/// The reason, cut where brokers would refuse it.
fn shortened(reason: &str) -> &str {
    &reason[..reason.floor_char_boundary(LONGEST_REASON)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_reason_is_cut_between_characters() {
        assert_eq!(shortened(&"é".repeat(200)).len(), 254);
        assert_eq!(shortened("short"), "short");
    }
}
