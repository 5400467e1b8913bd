//! A member of a Kafka group, as machines without I/O, clock and chance.
//!
//! ```text
//!  coordinator   the broker that coordinates the group: unknown, asked for, known
//!  classic       a member of the classic protocol: joins, heartbeats, callbacks, leaves
//!  consumer      a member of a consumer group (KIP-848): one heartbeat for everything
//!  leader        subscriptions and metadata to a plan, for the member that plans
//!  assignment    what is owned: offsets that are looked up, reading, pauses
//!  commits       what was handed out, done and committed, partition by partition
//!  reaction      each error of Kafka, and what follows from it
//! ```
//!
//! A machine takes an event and the time, and answers with commands; whoever runs it carries them out and reports back.
//! Answers of brokers name the request that they answer, and one that is no longer waited for changes nothing. A
//! generation is one value with the id of the member in it ([`Membership`]), so that neither can be mixed with another's.
//!
//! Start reading at [`ClassicMember::step`].

mod assignment;
mod classic;
mod commits;
mod consumer;
mod coordinator;
mod leader;
mod membership;
mod notice;
mod reaction;
mod retry;
mod subscription;

pub use assignment::{AssignmentReader, OffsetSource, ReadCommand, ReadPosition, ResetPolicy};
pub use classic::{ClassicCommand, ClassicEvent, ClassicMember, ClassicOptions, ClassicRequest};
pub use commits::{CommitLedger, OffsetCommit, RefusedCommit};
pub use consumer::{ConsumerCommand, ConsumerEvent, ConsumerGroupOptions, ConsumerMember};
pub use coordinator::{CoordinatorFinder, GroupCoordinator};
pub use leader::{GroupPlan, JoinedMember, PlanRule, TopicFacts, UnknownRule};
pub use membership::{AnswerFailure, Membership, RequestNumber};
pub use notice::{MemberFailure, MemberNotice, RebalanceCallback};
pub use reaction::{KafkaError, Reaction};
pub use retry::RetryWait;
pub use subscription::{OfferedStrategy, RebalanceManner, StrategyNotes};
