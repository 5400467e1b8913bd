//! The broker that coordinates a group.

use kafka_assigner_types::moment::Moment;

use crate::membership::RequestNumbers;
use crate::{AnswerFailure, KafkaError, RequestNumber, RetryWait};

/// The broker that coordinates a group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupCoordinator {
    /// Its number.
    pub node: i32,
    /// Its host.
    pub host: String,
    /// Its port.
    pub port: u16,
}

/// The way to the coordinator: unknown, asked for, known.
///
/// There is one question at a time. A coordinator that is lost while its answer is under way is asked for again when the
/// answer has come: it may be the one that was lost.
#[derive(Debug, Clone, Default)]
pub struct CoordinatorFinder {
    state: FinderState,
    numbers: RequestNumbers,
    wait: RetryWait,
}

#[derive(Debug, Clone)]
enum FinderState {
    /// It may be asked for from this moment on.
    Unknown(Moment),
    Asking(RequestNumber),
    Known(GroupCoordinator),
}

impl Default for FinderState {
    fn default() -> Self {
        Self::Unknown(Moment::default())
    }
}

impl CoordinatorFinder {
    /// The coordinator, where it is known.
    #[must_use]
    pub const fn known(&self) -> Option<&GroupCoordinator> {
        match &self.state {
            FinderState::Known(known) => Some(known),
            FinderState::Unknown(_) | FinderState::Asking(_) => None,
        }
    }

    /// The number of a request that is to be sent now, to any broker.
    pub fn serve(&mut self, now: Moment) -> Option<RequestNumber> {
        let FinderState::Unknown(not_before) = self.state else { return None };
        if now < not_before {
            return None;
        }
        let number = self.numbers.deal();
        self.state = FinderState::Asking(number);
        Some(number)
    }

    /// The time at which [`serve`](Self::serve) is to be called again; `None`: an answer comes first.
    #[must_use]
    pub const fn next_step(&self) -> Option<Moment> {
        match self.state {
            FinderState::Unknown(not_before) => Some(not_before),
            FinderState::Asking(_) | FinderState::Known(_) => None,
        }
    }

    /// Takes an answer. One to another question changes nothing.
    ///
    /// # Errors
    /// The error of the broker where waiting does not help: the group's name is refused, or the user may not see it.
    pub fn answered(
        &mut self,
        number: RequestNumber,
        answer: Result<Result<GroupCoordinator, KafkaError>, AnswerFailure>,
        now: Moment,
    ) -> Result<(), KafkaError> {
        if !matches!(self.state, FinderState::Asking(asked) if asked == number) {
            return Ok(());
        }
        let refusal = match answer {
            Ok(Ok(found)) => {
                self.state = FinderState::Known(found);
                return Ok(());
            }
            Ok(Err(error)) => Some(error).filter(|error| !passes(*error)),
            Err(AnswerFailure) => None,
        };
        self.state = FinderState::Unknown(now + self.wait.failed());
        refusal.map_or(Ok(()), Err)
    }

    /// The broker coordinates the group no more, or can't be reached. It is asked for again after a wait, so that a
    /// cluster that names the same broker for ever is not asked without end.
    pub fn lost(&mut self, now: Moment) {
        if let FinderState::Known(_) = self.state {
            self.state = FinderState::Unknown(now + self.wait.failed());
        }
    }

    /// The coordinator has answered a request of the group as one: it is the right one, and the waits begin anew.
    pub const fn confirmed(&mut self) {
        self.wait.succeeded();
    }
}

fn passes(error: KafkaError) -> bool {
    matches!(error, KafkaError::UNKNOWN_SERVER | KafkaError::LOADING | KafkaError::TIMED_OUT)
        || error.is_of_coordinator()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn at(millis: u64) -> Moment {
        Moment(Duration::from_millis(millis))
    }

    fn broker(node: i32) -> GroupCoordinator {
        GroupCoordinator { node, host: "kafka".to_owned(), port: 9092 }
    }

    #[test]
    fn one_question_is_under_way_and_only_its_answer_counts() {
        let mut finder = CoordinatorFinder::default();
        let first = finder.serve(at(0)).unwrap();
        assert_eq!(finder.serve(at(1)), None);
        assert_eq!(finder.answered(RequestNumber(99), Ok(Ok(broker(9))), at(2)), Ok(()));
        assert_eq!(finder.known(), None);
        assert_eq!(finder.answered(first, Ok(Ok(broker(1))), at(3)), Ok(()));
        assert_eq!(finder.known(), Some(&broker(1)));
        assert_eq!(finder.answered(first, Ok(Ok(broker(2))), at(4)), Ok(()));
        assert_eq!(finder.known(), Some(&broker(1)), "an answer counts once");
    }

    #[test]
    fn a_broker_that_is_named_again_and_again_is_asked_less_and_less() {
        let (mut finder, mut now, mut asked) = (CoordinatorFinder::default(), 0, 0);
        while now < 10_000 {
            if let Some(number) = finder.serve(at(now)) {
                asked += 1;
                finder.answered(number, Ok(Ok(broker(1))), at(now)).unwrap();
            }
            finder.lost(at(now));
            now += 1;
        }
        assert!((8..20).contains(&asked), "{asked}");
    }

    #[test]
    fn only_a_coordinator_that_answers_as_one_ends_the_growth_of_waits() {
        let mut finder = CoordinatorFinder::default();
        let found_and_lost = |finder: &mut CoordinatorFinder, now, is_confirmed| {
            let number = finder.serve(at(now)).unwrap();
            finder.answered(number, Ok(Ok(broker(1))), at(now)).unwrap();
            if is_confirmed {
                finder.confirmed();
            }
            finder.lost(at(now));
            finder.next_step()
        };
        assert_eq!(found_and_lost(&mut finder, 0, false), Some(at(100)));
        assert_eq!(found_and_lost(&mut finder, 100, false), Some(at(300)));
        assert_eq!(found_and_lost(&mut finder, 300, true), Some(at(400)));
    }

    #[test]
    fn what_passes_is_tried_again_and_what_does_not_is_told() {
        let mut finder = CoordinatorFinder::default();
        let number = finder.serve(at(0)).unwrap();
        assert_eq!(finder.answered(number, Ok(Err(KafkaError::NOT_AVAILABLE)), at(0)), Ok(()));
        assert_eq!((finder.serve(at(99)), finder.next_step()), (None, Some(at(100))));
        let number = finder.serve(at(100)).unwrap();
        assert_eq!(finder.answered(number, Err(AnswerFailure), at(100)), Ok(()));
        let number = finder.serve(at(300)).unwrap();
        assert_eq!(finder.answered(number, Ok(Err(KafkaError::UNKNOWN_SERVER)), at(300)), Ok(()));
        let number = finder.serve(at(700)).unwrap();
        assert_eq!(finder.answered(number, Ok(Err(KafkaError(30))), at(700)), Err(KafkaError(30)));
    }
}
