//! The errors of commands for the store.

/// The reasons for which a command for the store fails, besides the store's own.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StoreCommandError {
    /// The store has no identity.
    #[error("the store has no cluster id under {prefix}: no instance has run on it yet, or it was wiped")]
    Unidentified {
        /// The prefix of its keys.
        prefix: String,
    },
    /// Somebody else changed the identity at the same time.
    #[error("the cluster id was changed by somebody else at the same time: nothing was done")]
    Overtaken,
    /// A group that is to be exported is not there.
    #[error("group {0} is not in the store")]
    NoGroup(String),
    /// A record that is to be exported can't be read.
    #[error("{key} can't be read: {why}")]
    Unreadable {
        /// The record's key.
        key: String,
        /// The fault.
        why: String,
    },
    /// Groups that are to be imported are there.
    #[error("{0} exists in the store: nothing was imported")]
    GroupExists(String),
    /// A line of an export makes no sense.
    #[error("line {number} of the export is refused: {why}")]
    Line {
        /// The line's number, from 1.
        number: usize,
        /// The fault.
        why: String,
    },
}

impl StoreCommandError {
    /// The exit code: 1 = refused by what the store has, 2 = wrong input.
    pub(crate) const fn exit_code(&self) -> u8 {
        match self {
            Self::Line { .. } => 2,
            Self::Unidentified { .. }
            | Self::Overtaken
            | Self::NoGroup(_)
            | Self::Unreadable { .. }
            | Self::GroupExists(_) => 1,
        }
    }

    /// The next step.
    pub(crate) const fn hint(&self) -> &'static str {
        match self {
            Self::Unidentified { .. } => {
                "`kafka-assigner serve --print-config` shows which store and prefix are used; a new store needs nothing: \
                 start the instances"
            }
            Self::Overtaken => "nothing was lost; run it again, unless they did what you want",
            Self::NoGroup(_) => "`kafka-assigner store export` without names writes every group",
            Self::Unreadable { .. } => "use the version of this program that wrote it",
            Self::GroupExists(_) => {
                "delete it with `kafka-assigner group delete`, or leave its lines out of the export"
            }
            Self::Line { .. } => {
                "use what `kafka-assigner store export` of this version or an older one wrote"
            }
        }
    }
}
