//! How much may happen.

/// How large the group is, and how often each kind of trouble may strike.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Bounds {
    /// Partitions of the one topic.
    pub partitions: u32,
    /// Consumers, by name; the first owns everything at the start.
    pub names: u8,
    /// Instances, 1 or 2: consumers are spread over them, the first leads at the start.
    pub instances: u8,
    /// Sessions that may be opened after the first one.
    pub sessions: u8,
    /// A process dies; its lease runs out later, and it may be restarted before or after.
    pub crashes: u8,
    /// A lease runs out under a process that lives on.
    pub expiries: u8,
    /// A second process registers under a name whose process lives.
    pub twins: u8,
    /// A consumer leaves at once.
    pub leaves: u8,
    /// A consumer asks to be drained.
    pub drains: u8,
    /// An ack is repeated by the network at any later time.
    pub strays: u8,
    /// A leader's write has an unknown outcome, and may apply at any later time.
    pub unknowns: u8,
    /// The leader is deposed, and learns of it late.
    pub depositions: u8,
    /// A phase outlives its deadline.
    pub deadlines: u8,
    /// A new owner says that it can't.
    pub failures: u8,
    /// A stream breaks, and the client attaches to another instance.
    pub reconnects: u8,
    /// A registration becomes unreadable for a while.
    pub spoils: u8,
}
